//! A whole network on a real device: what it gives is what double precision gives, in as many parts as
//! memory wants, and whoever multiplies.

mod common;

use common::{device, file, model, run};
use device_runtime::compile::compile;
use device_runtime::network::{
    Options, Peer, Plan, Stage, agree, check, inference, one_best, race,
};
use device_runtime::{OpenCl, Runtime};
use kernels::bundle::Bundle;
use kernels::networks::{Convolution, Layer};
use selector_core::{KernelId, ProblemClass};

/// A small chain: an odd image, strides, pooling that leaves an edge out, and three fully connected
/// layers.
fn layers() -> Vec<Layer> {
    let strided =
        Convolution { kernel: [5, 3], padding: [1, 2], ..Convolution::square(23, 3, 7, 3) };
    let strided = strided.stride(2);
    let [height, width] = strided.output();
    let next = Convolution { image: [height / 2, width / 2], ..Convolution::square(1, 7, 9, 3) };
    vec![
        Layer::from(strided),
        next.into(),
        Convolution { channels_in: 9, channels_out: 5, ..next }.into(),
        Layer::fully_connected(5 * (height / 4) * (width / 4), 33),
        Layer::fully_connected(33, 17),
        Layer::fully_connected(17, 10),
    ]
}

/// A stage on the device, with a bundle of two kernels.
#[expect(clippy::unwrap_used, reason = "a test ends by a panic")]
fn on_stage(device: OpenCl, plan: Plan, work: impl FnOnce(&mut Stage<'_>)) {
    let model = model(&[ProblemClass::F32_NN]);
    let bytes = compile(&device, &model, &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    work(&mut Stage::new(Runtime::load(device, &bundle).unwrap(), plan).unwrap());
}

#[test]
fn an_inference_is_what_double_precision_gives_however_many_images_go_at_once() {
    for (images, limit) in [(1, u64::MAX), (5, u64::MAX), (5, 2 * 4 * 45 * 132), (3, 1)] {
        let Some(device) = device() else { return };
        let plan = Plan::whole(layers(), images, limit).unwrap();
        let parts: usize = plan.steps().iter().map(|step| step.parts.len()).sum();
        assert_eq!(parts > 6, limit < u64::MAX, "{parts} parts");
        on_stage(device, plan, |stage| {
            let host = inference(stage.plan()).unwrap();
            assert_eq!(host.len(), 10 * usize::from(images));
            assert!(host.iter().all(|value| value.is_finite() && *value != 0.0), "{host:?}");
            for peer in [Peer::Ours, Peer::OursOne(KernelId(1)), Peer::OursOne(KernelId::UNIVERSAL)]
            {
                let checked = check(stage, &peer).unwrap();
                assert!(checked.values > 300 && checked.worst < 1.0, "{checked:?}");
                let ours = (peer.name(), &checked.outputs[..]);
                agree(ours, ("the host", &host)).unwrap();
            }
        });
    }
}

#[test]
fn multiplications_alone_are_checked_and_timed_by_everyone() {
    let Some(device) = device() else { return };
    let grouped = Convolution::square(9, 4, 6, 3).groups(2);
    let layers =
        vec![grouped.into(), Layer::fully_connected(40, 12), Layer::fully_connected(40, 12)];
    let plan = Plan::multiplications(layers, 2, u64::MAX);
    on_stage(device, plan, |stage| {
        let one = one_best(stage, |_, _, _| {}).unwrap();
        assert!([1, 2].contains(&one.0), "{one:?}");
        let mut peers = vec![Peer::Ours, Peer::OursOne(one)];
        peers.extend(Peer::clblast(&[]).ok());
        for peer in &peers {
            let checked = check(stage, peer).unwrap();
            assert!(checked.values > 150 && checked.outputs.is_empty(), "{checked:?}");
        }
        // The tree asks for m: below 16 goes to the first kernel.
        let [first, ..] = common::KERNELS;
        assert_eq!(stage.chosen().unwrap(), [first; 2]);
        let options = Options { rounds: 3, sample: std::time::Duration::ZERO, seed: 1 };
        let (mut told, mut last) = (0, (0, 0));
        let (times, rest) = race(stage, &peers, options, |done, total, _| {
            told += 1;
            last = (done, total);
        })
        .unwrap();
        assert!(rest.is_none());
        assert_eq!((told, last), (4 * peers.len(), (4 * peers.len(), 4 * peers.len())));
        for one in times {
            assert_eq!((one.whole.calls, one.whole.nanoseconds.len()), (1, 3));
            let counts = one.multiplications.iter().map(|samples| samples.nanoseconds.len());
            assert_eq!(counts.collect::<Vec<_>>(), [3, 3]);
        }
    });
}

#[test]
fn the_command_runs_vgg16_on_small_images_and_writes_every_sample() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let bundle = file(folder.path(), "b.gtb", &bytes);
    let csv = folder.path().join("vgg16.csv");
    let path = csv.to_str().unwrap();
    let arguments = ["bench", "--bundle", &bundle, "--network", "vgg16", "--side", "32"];
    let more = ["--rounds", "2", "--sample", "0", "--verify"];
    let done = run(&[&arguments[..], &more, &["--output", path]].concat()).ok().done();
    assert_eq!((&done["images"], &done["whole"]), (&1.into(), &true.into()), "{done}");
    let peers: Vec<_> = done["peers"].as_array().unwrap().iter().map(|one| &one["peer"]).collect();
    assert_eq!(peers[..2], ["ours", "ours-one"]);
    let skipped: Vec<_> =
        done["skipped"].as_array().unwrap().iter().map(ToString::to_string).collect();
    // Who does not take part is told; CLBlast may be here or not, but nobody named parameters.
    assert_eq!(peers.len() + skipped.len(), 4, "{skipped:?}");
    assert!(skipped.last().unwrap().contains("no parameters are given"), "{skipped:?}");
    assert!(done["apart_from_host"].as_f64().unwrap() < 1e-4, "{done}");
    assert!(done["rest"]["median_ns"].as_f64().unwrap() > 0.0, "{done}");
    let layers = done["layers"].as_array().unwrap();
    assert_eq!(layers[0]["layers"], "conv1_1");
    assert_eq!(layers[0]["kernel"], common::KERNELS[1]);
    let text = std::fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("# network: vgg16\n"), "{text}");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rows.count(), 1 + peers.len() * (1 + layers.len()) + 1);
}

#[test]
fn what_a_network_cannot_do_is_refused_by_name() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let bundle = file(folder.path(), "b.gtb", &bytes);
    let refused = |more: &[&str], words: &[&str]| {
        run(&[&["bench", "--bundle", &bundle][..], more].concat()).refused(words);
    };
    refused(&["--network", "vgg"], &["`vgg`", "resnet50"]);
    refused(&["--network", "resnet50", "--side", "64"], &["`resnet50`", "--side"]);
    refused(&["--network", "resnet50", "--verify"], &["`resnet50`", "--verify"]);
    refused(&["--network", "vgg16", "--side", "31"], &["--side"]);
    refused(&["--network", "vgg16", "--batch", "0"], &["--batch"]);
    refused(&["--batch", "2"], &["--network"]);
}
