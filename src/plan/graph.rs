//! The order of a plan's actions: a topological sort that keeps the plan's own order wherever the
//! dependencies leave the choice (R-001-76, R-001-95). Without recursion: a long chain costs no stack.

use std::{
    collections::{BTreeSet, HashMap},
    fmt, iter,
};

use super::model::{Action, ActionId};

/// Actions that wait for each other: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cycle(pub(crate) Vec<ActionId>);

const NAMED: usize = 10;

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.0.iter().take(NAMED) {
            write!(f, "{id} → ")?;
        }
        if self.0.len() > NAMED {
            write!(f, "… ({} more) → ", self.0.len() - NAMED)?;
        }
        self.0.first().map_or(Ok(()), |first| write!(f, "{first}"))
    }
}

/// The indices of the actions in the order in which they are performed: every action after those that it depends
/// on, otherwise as the plan lists them. Dependencies on unknown actions are ignored here; `read` reports them.
pub(crate) fn order(actions: &[Action]) -> Result<Vec<usize>, Cycle> {
    let ids = actions.iter().map(|action| &action.id);
    let places: HashMap<&ActionId, usize> = ids.zip(0..).collect();
    let needed = |id| places.get(id).copied();
    let waits = actions
        .iter()
        .map(|action| action.depends_on.iter().filter_map(needed));
    let waits: Vec<Vec<usize>> = waits.map(Iterator::collect).collect();
    let mut missing: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut followers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut ready = BTreeSet::new();
    for (place, needed) in waits.iter().enumerate() {
        if needed.is_empty() {
            ready.insert(place);
        }
        for need in needed {
            followers.entry(*need).or_default().push(place);
        }
    }
    let mut order = Vec::with_capacity(actions.len());
    while let Some(place) = ready.pop_first() {
        order.push(place);
        for follower in followers.remove(&place).into_iter().flatten() {
            if let Some(missing) = missing.get_mut(follower) {
                *missing -= 1;
                if *missing == 0 {
                    ready.insert(follower);
                }
            }
        }
    }
    if order.len() == actions.len() {
        Ok(order)
    } else {
        Err(cycle(actions, &waits, &missing))
    }
}

/// Every remaining action waits for another remaining one, so following them leads into a cycle.
fn cycle(actions: &[Action], waits: &[Vec<usize>], missing: &[usize]) -> Cycle {
    let stuck = |place: &usize| missing.get(*place).is_some_and(|missing| *missing > 0);
    let next = |place: &usize| waits.get(*place)?.iter().copied().find(stuck);
    // After so many steps, every further one is in the cycle.
    let within = iter::successors((0..actions.len()).find(stuck), next).nth(actions.len());
    let around = iter::successors(within.as_ref().and_then(next), next);
    let mut way: Vec<usize> = around.take_while(|place| Some(*place) != within).collect();
    way.extend(within);
    // The cycle begins with the action that the plan lists first.
    let first = way.iter().min().copied();
    let first = way.iter().position(|place| Some(*place) == first);
    way.rotate_left(first.unwrap_or_default());
    let name = |place: usize| actions.get(place).map(|action| action.id.clone());
    Cycle(way.into_iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::task::Risk;
    use crate::{plan::model::Operation, task::RelPath};

    fn action(id: &str, depends_on: &[&str]) -> Action {
        Action {
            id: ActionId(id.to_owned()),
            target: RelPath::parse("f").unwrap(),
            operation: Operation::Delete { diff: None },
            depends_on: depends_on
                .iter()
                .map(|id| ActionId((*id).to_owned()))
                .collect(),
            risk: Risk::Low,
            rules: Vec::new(),
            timeout: Duration::from_secs(30),
        }
    }

    #[test]
    fn without_dependencies_the_plans_own_order_stands_r_001_95() {
        let actions = [action("b", &[]), action("a", &[]), action("c", &[])];
        assert_eq!(order(&actions), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn an_action_comes_after_what_it_depends_on_and_no_later_than_it_must() {
        let actions = [
            action("a", &["d"]),
            action("b", &[]),
            action("c", &["a"]),
            action("d", &[]),
            action("e", &[]),
        ];
        assert_eq!(order(&actions), Ok(vec![1, 3, 0, 2, 4]));
    }

    #[test]
    fn a_cycle_is_told_from_its_first_action_r_001_94() {
        let actions = [
            action("a000", &["a002"]),
            action("a001", &["a002"]),
            action("a002", &["a001"]),
        ];
        let cycle = order(&actions).unwrap_err();
        assert_eq!(cycle.to_string(), "a001 → a002 → a001");
    }

    #[test]
    fn an_action_that_waits_for_itself_is_a_cycle() {
        let cycle = order(&[action("a", &["a"])]).unwrap_err();
        assert_eq!(cycle.to_string(), "a → a");
    }

    #[test]
    fn a_long_cycle_is_not_told_in_full() {
        let actions: Vec<Action> = (0..30)
            .map(|n| action(&n.to_string(), &[&((n + 1) % 30).to_string()]))
            .collect();
        let told = order(&actions).unwrap_err().to_string();
        assert!(told.ends_with("9 → … (20 more) → 0"), "{told}");
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_actions_needs_no_stack() {
        let length: usize = 100_000;
        let mut actions: Vec<Action> = (0..length)
            .map(|n| action(&n.to_string(), &[&(n + 1).to_string()]))
            .collect();
        assert_eq!(
            order(&actions),
            Ok((0..length).rev().collect::<Vec<usize>>())
        );
        actions.push(action(&length.to_string(), &["0"]));
        assert_eq!(order(&actions).unwrap_err().0.len(), length + 1);
    }
}
