//! The schema as data, read twice.
//!
//! AEAT tells structure from content. A tag missing, unknown, misplaced, repeated too often or in
//! the wrong namespace refuses the whole message; a value of the wrong form refuses its record
//! alone (Val 3.1). So the same table serves two walks: [`Node::structure`] over the whole message,
//! and [`Node::content`] over one record.

mod facet;
mod tables;

pub(crate) use self::facet::{Facet, Form, civil_date, is_upper_hex};
pub(crate) use self::tables::{HEADER, QUERY, RECORD_ALTA, RECORD_ANULACION, SUBMISSION};

use super::finding::Finding;
use super::xml::{Element, Ns};

/// An element of the schema.
#[derive(Debug)]
pub(crate) struct Node {
    ns: Ns,
    name: &'static str,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// A sequence of slots.
    Group(&'static [Slot]),
    /// A text.
    Leaf(Facet),
    /// Any well-formed content: the signature.
    Opaque,
}

/// A place in a sequence: one of some alternatives, so many times.
#[derive(Debug)]
pub(crate) struct Slot {
    any_of: &'static [Node],
    least: usize,
    most: usize,
}

impl Node {
    /// Checks names, namespaces, order, choices and numbers, all the way down. The finding names
    /// the element that is missing, or the one that should not be there.
    pub(crate) fn structure(&self, element: &Element) -> Result<(), Finding> {
        let slots = match self.shape {
            Shape::Opaque => return Ok(()),
            Shape::Leaf(_) => {
                return match element.children.first() {
                    None => Ok(()),
                    Some(child) => Err(misplaced(&child.name)),
                };
            }
            Shape::Group(slots) => slots,
        };
        if !element.text.is_empty() {
            return Err(misplaced(&element.name));
        }
        let mut children = element.children.iter().peekable();
        for slot in slots {
            let mut count = 0;
            while let Some((node, child)) =
                children.peek().and_then(|child| Some((slot.node(child)?, *child)))
            {
                children.next();
                count += 1;
                if count > slot.most {
                    return Err(slot.excess(&child.name));
                }
                node.structure(child)?;
            }
            if count < slot.least {
                return Err(slot.absence(children.peek().copied()));
            }
        }
        match children.next() {
            None => Ok(()),
            Some(child) => Err(misplaced(&child.name)),
        }
    }

    /// Checks the form of every text, in document order; the first one that is wrong. Expects the
    /// structure to be right.
    pub(crate) fn content(&self, element: &Element) -> Result<(), Finding> {
        match self.shape {
            Shape::Opaque => Ok(()),
            Shape::Leaf(facet) => facet.check(&element.name, &element.text),
            Shape::Group(slots) => {
                let mut slots = slots.iter().peekable();
                for child in &element.children {
                    let node = loop {
                        match slots.peek() {
                            None => return Err(misplaced(&child.name)),
                            Some(slot) => match slot.node(child) {
                                Some(node) => break node,
                                None => slots.next(),
                            },
                        };
                    };
                    node.content(child)?;
                }
                Ok(())
            }
        }
    }
}

impl Slot {
    fn node(&self, element: &Element) -> Option<&'static Node> {
        self.any_of.iter().find(|node| node.ns == element.ns && node.name == element.name)
    }

    fn excess(&self, name: &str) -> Finding {
        match (self.most, name) {
            (1, _) => misplaced(name),
            (_, "RegistroFactura") => Finding::new(4114),
            _ => Finding::new(4113),
        }
    }

    fn absence(&self, found: Option<&Element>) -> Finding {
        let first = self.any_of.first().map_or("", |node| node.name);
        match (first, found.map(|element| element.name.as_str())) {
            ("RegistroAlta", Some("RegistroAnulacion")) => Finding::new(4137),
            ("RegistroAlta", _) => Finding::new(4136),
            _ => misplaced(first),
        }
    }
}

fn misplaced(name: &str) -> Finding {
    Finding::new(4102).naming(name)
}
