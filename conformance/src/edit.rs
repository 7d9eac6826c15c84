//! Changes of a message that a case takes from a fragment.

use crate::CaseError;
use crate::message::{IeNode, IeTree, IeValue};

/// The list that a path's last part is in, and that part's place. A path is IE names joined by `/`; `#2` behind a
/// name means the second one of that name.
fn locate<'t>(tree: &'t mut IeTree, path: &str) -> Result<(&'t mut IeTree, usize), CaseError> {
    let lost = || CaseError::Path(path.to_owned());
    let mut parts = path.split('/').peekable();
    let mut list = tree;
    loop {
        let part = parts.next().ok_or_else(lost)?;
        let at = position(list, part).ok_or_else(lost)?;
        if parts.peek().is_none() {
            return Ok((list, at));
        }
        match &mut list.0[at].value {
            IeValue::Group(inner) => list = inner,
            IeValue::Literal(_) => return Err(lost()),
        }
    }
}

fn position(list: &IeTree, part: &str) -> Option<usize> {
    let (name, nth) = match part.split_once('#') {
        Some((name, nth)) => (name, nth.parse::<usize>().ok()?.checked_sub(1)?),
        None => (part, 0),
    };
    list.0.iter().enumerate().filter(|(_, ie)| ie.name == name).nth(nth).map(|(at, _)| at)
}

/// Takes out the IE.
pub(crate) fn remove(tree: &mut IeTree, path: &str) -> Result<(), CaseError> {
    let (list, at) = locate(tree, path)?;
    list.0.remove(at);
    Ok(())
}

/// Gives the IE another value.
pub(crate) fn set(tree: &mut IeTree, path: &str, value: IeValue) -> Result<(), CaseError> {
    let (list, at) = locate(tree, path)?;
    list.0[at].value = value;
    Ok(())
}

/// Puts IEs at the end of a group, or of the message when the path is empty.
pub(crate) fn add(tree: &mut IeTree, path: &str, ies: Vec<IeNode>) -> Result<(), CaseError> {
    let list = if path.is_empty() {
        tree
    } else {
        let (list, at) = locate(tree, path)?;
        match &mut list.0[at].value {
            IeValue::Group(inner) => inner,
            IeValue::Literal(_) => return Err(CaseError::Path(path.to_owned())),
        }
    };
    list.0.extend(ies);
    Ok(())
}
