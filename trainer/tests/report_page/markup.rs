//! A small strict parser: every element is closed, every attribute quoted, every `&` an entity.

/// An element, without what is in it.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(one, _)| one == name).map(|(_, value)| &value[..])
    }
}

/// The elements in the order in which they begin.
pub(crate) fn parse(html: &str) -> Result<Vec<Element>, String> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").ok_or("no doctype")?;
    let (mut elements, mut open) = (Vec::new(), Vec::<String>::new());
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        text(before)?;
        let end = tag.find('>').ok_or("a tag does not end")?;
        let inside = &tag[1..end];
        rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => continue,
                last => return Err(format!("</{name}> closes {last:?}")),
            }
        }
        let closed = inside.strip_suffix('/');
        let element = element(closed.unwrap_or(inside))?;
        if element.name == "style" {
            let end = rest.find("</style>").ok_or("no </style>")?;
            rest = &rest[end..];
        }
        if closed.is_none() {
            open.push(element.name.clone());
        }
        elements.push(element);
    }
    text(rest)?;
    if open.is_empty() { Ok(elements) } else { Err(format!("still open: {open:?}")) }
}

fn element(inside: &str) -> Result<Element, String> {
    let inside = inside.trim_end();
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("<{inside}> is no tag"));
    }
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").ok_or(format!("<{inside}>: {rest}"))?;
        let (value, next) = value.split_once('"').ok_or(format!("<{inside}>: not quoted"))?;
        text(value)?;
        if name.contains([' ', '\'', '"', '<']) || attributes.iter().any(|(one, _)| one == name) {
            return Err(format!("<{inside}>: attribute {name}"));
        }
        attributes.push((name.to_owned(), value.to_owned()));
        rest = next.trim_start();
    }
    Ok(Element { name: name.to_owned(), attributes })
}

fn text(text: &str) -> Result<(), String> {
    let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
    let wrong =
        text.split('&').skip(1).any(|after| !known.iter().any(|one| after.starts_with(one)));
    let odd = text.contains(['<', '>']) || text.chars().any(|c| c.is_control() && c != '\n');
    if wrong || odd { Err(format!("not escaped: {text}")) } else { Ok(()) }
}

/// The colour of each kernel by id, from the rules `.k<id>{fill:#rrggbb`.
pub(crate) fn kernel_colours(html: &str) -> Vec<[u8; 3]> {
    let colour = |id: usize| {
        let rule = format!(".k{id}{{fill:#");
        let start = html.find(&rule)? + rule.len();
        let part = |at: usize| u8::from_str_radix(&html[start + at..start + at + 2], 16).ok();
        Some([part(0)?, part(2)?, part(4)?])
    };
    (0..).map_while(colour).collect()
}

#[test]
fn what_is_not_well_formed_is_refused() {
    let parse_in = |body: &str| parse(&format!("<!DOCTYPE html>\n<p>{body}</p>"));
    assert_eq!(parse_in("a &amp; <b c=\"d\">e</b><i />").unwrap().len(), 3);
    for wrong in ["<b>", "</b>", "<b c=d></b>", "<b c=\"d></b>", "a & b", "&nbsp;", "a > b", "<3"] {
        assert!(parse_in(wrong).is_err(), "{wrong}");
    }
}
