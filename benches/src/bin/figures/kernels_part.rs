//! The kernels beside other libraries: measured here on the processor through two OpenCL
//! implementations, and as kept runs of other devices tell. A run takes up to twenty minutes a
//! device here; what was cut short or killed goes on when it is begun again.

mod device;
mod half;
mod here;
mod kept;
mod lines;

use anyhow::Context;

use crate::figure::Sheet;
use device::DEVICES;
use kept::Kept;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let kept = Kept::all()?;
    for device in &DEVICES {
        let name = device.name;
        let newest = Kept::newest(&kept, device.platform);
        let here = device.here.as_ref().map(|here| here::measure(sheet, device, here));
        let (record, text) = match (here, newest) {
            (Some(Ok(record)), _) => (record, String::new()),
            (not_here, Some(run)) => {
                if let Some(Err(why)) = not_here {
                    sheet.skipped(&format!("kernels.{name}.here"), &format!("{why:#}"));
                }
                sheet.note(&run.told());
                (run.record.clone(), run.text.clone())
            }
            (not_here, None) => {
                let why = not_here.and_then(Result::err);
                let why =
                    why.map_or_else(|| "no run of it is kept".to_owned(), |why| format!("{why:#}"));
                sheet.skipped(&format!("kernels.{name}"), &why);
                continue;
            }
        };
        for line in lines::of(device, &record, &text) {
            sheet.tell(&line);
        }
    }
    kept::five_splits(sheet, &kept)?;
    for line in half::lines()? {
        sheet.tell(&line);
    }
    for line in kept::data_sets()? {
        sheet.tell(&line);
    }
    Ok(())
}

/// Run the board's program with `asked` on PoCL, with a bundle made for it and CLBlast's parameters.
pub(crate) fn on_pocl(sheet: &Sheet, asked: &[&str]) -> anyhow::Result<()> {
    let device = DEVICES.iter().find(|device| device.name == "pocl");
    let pocl = device.and_then(|device| Some((device, device.here.as_ref()?)));
    let (device, here) = pocl.context("PoCL is not measured here")?;
    here::board(sheet, device, here, asked)
}
