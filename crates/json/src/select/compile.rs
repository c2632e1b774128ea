//! Compiles several paths into one automaton: a trie with one bit per node, so that a set of nodes is a
//! number.

use crate::names::Names;

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    /// To the member with this name, without quotes and escapes.
    Key(Vec<u8>),
    /// To every member and element.
    Any,
    /// To the elements from the first number up to, but not including, the second.
    Slice(u64, u64),
    /// To the value itself and everything in it.
    Deep,
    /// To every member and element for which the condition holds.
    If(Condition),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// A path, and the comparison with its operand: a string after a quote, or a number or word as written.
pub(super) type Test = (Vec<PathStep>, Option<(Comparison, Vec<u8>)>);

/// Tests that must all hold. A test holds if one of the values that its path selects passes it. Numbers
/// compare as double-precision numbers, strings by characters. Values of different kinds are unequal and
/// unordered.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The comparison of each test.
    pub(super) tests: Vec<Option<(Comparison, Vec<u8>)>>,
    texts: Vec<Test>,
    pub(super) paths: Paths,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Condition {
    /// Compiles the paths of the tests.
    pub(super) fn new(tests: Vec<Test>) -> Result<Self, String> {
        let paths: Vec<Vec<PathStep>> = tests.iter().map(|(path, _)| path.clone()).collect();
        let paths = Paths::new(&paths)?;
        Ok(Condition { tests: tests.iter().map(|(_, test)| test.clone()).collect(), texts: tests, paths })
    }
}

/// A set of nodes: the states of the current value.
pub type States = u128;

/// Maximum number of nodes.
const MOST: usize = States::BITS as usize;

/// The automaton.
#[derive(Clone, Debug)]
pub struct Paths {
    nodes: Vec<Node>,
    /// The states of a document.
    root: States,
    /// The nodes at which a path ends.
    ends: States,
    /// The nodes with steps to members.
    into_objects: States,
    /// The nodes with steps to elements.
    into_arrays: States,
    /// Whether a selected value may contain another one.
    nests: bool,
    /// Whether any step has a condition.
    conditions: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    steps: Vec<(PathStep, usize)>,
    /// The numbers of the paths that end here.
    ends: Vec<usize>,
    /// Whether it also matches everything below: the node of a `..`.
    deep: bool,
    /// The steps by kind, with the states that each reaches.
    keys: Vec<(Vec<u8>, States)>,
    any: States,
    slices: Vec<(u64, u64, States)>,
    conditions: Vec<(Condition, States)>,
    /// The names of the selected members, if only names decide.
    names: Option<Names>,
}

impl Paths {
    /// Compiles the paths.
    ///
    /// # Errors
    /// If the paths have too many steps in total.
    pub fn new(paths: &[Vec<PathStep>]) -> Result<Self, String> {
        let mut nodes = vec![Node::default()];
        for (number, path) in paths.iter().enumerate() {
            let mut at = 0;
            for step in path {
                at = match nodes[at].steps.iter().find(|(known, _)| known == step) {
                    Some((_, next)) => *next,
                    None => {
                        let next = nodes.len();
                        nodes[at].steps.push((step.clone(), next));
                        nodes.push(Node { deep: *step == PathStep::Deep, ..Node::default() });
                        next
                    }
                };
            }
            nodes[at].ends.push(number);
        }
        if nodes.len() > MOST {
            return Err(format!("the paths have more than {MOST} steps together"));
        }
        let deep = paths.iter().flatten().any(|step| *step == PathStep::Deep);
        let conditions = paths.iter().flatten().any(|step| matches!(step, PathStep::If(_)));
        let nests = deep || paths.len() > 1;
        let mut compiled =
            Paths { root: 0, ends: 0, into_objects: 0, into_arrays: 0, nests, conditions, nodes };
        compiled.root = compiled.reached(0);
        for at in 0..compiled.nodes.len() {
            compiled.link(at);
        }
        Ok(compiled)
    }

    /// Returns the states that include the node and the nodes of `..` steps after it.
    fn reached(&self, at: usize) -> States {
        let deep = self.nodes[at].steps.iter().filter(|(step, _)| *step == PathStep::Deep);
        deep.fold(1 << at, |states, (_, next)| states | self.reached(*next))
    }

    fn link(&mut self, at: usize) {
        let mut node = self.nodes[at].clone();
        for (step, next) in &node.steps {
            let states = self.reached(*next);
            match step {
                PathStep::Key(name) => node.keys.push((name.clone(), states)),
                PathStep::Any => node.any |= states,
                PathStep::Slice(from, to) => node.slices.push((*from, *to, states)),
                PathStep::If(condition) => node.conditions.push((condition.clone(), states)),
                PathStep::Deep => {}
            }
        }
        if node.deep {
            node.any |= self.reached(at);
        }
        if node.any == 0 && node.conditions.is_empty() {
            node.names = Names::new(node.keys.iter().map(|(name, _)| name.as_slice()));
        }
        let bit = 1 << at;
        let both = node.any != 0 || !node.conditions.is_empty();
        self.into_objects |= if both || !node.keys.is_empty() { bit } else { 0 };
        self.into_arrays |= if both || !node.slices.is_empty() { bit } else { 0 };
        self.ends |= if node.ends.is_empty() { 0 } else { bit };
        self.nodes[at] = node;
    }

    /// Returns the states of a document.
    pub fn root(&self) -> States {
        self.root
    }

    /// Whether a value with these states is selected.
    #[inline(always)]
    pub fn wants(&self, states: States) -> bool {
        states & self.ends != 0
    }

    /// Whether a selected value may contain another one.
    pub fn nests(&self) -> bool {
        self.nests
    }

    /// Returns the numbers of the paths that end in these states.
    pub fn ending(&self, states: States) -> impl Iterator<Item = usize> {
        bits(states & self.ends).flat_map(|at| self.nodes[at].ends.iter().copied())
    }

    /// Whether an object with these states can have selected members.
    #[inline(always)]
    pub fn enters_objects(&self, states: States) -> bool {
        states & self.into_objects != 0
    }

    /// Returns the names of the selectable members of such an object, if only names decide.
    pub(crate) fn names(&self, states: States) -> Option<&Names> {
        let mut nodes = bits(states & self.into_objects);
        let (only, more) = (nodes.next()?, nodes.next());
        self.nodes[only].names.as_ref().filter(|_| more.is_none())
    }

    /// Whether an array with these states can have selected elements.
    #[inline(always)]
    pub fn enters_arrays(&self, states: States) -> bool {
        states & self.into_arrays != 0
    }

    /// Returns the states of the member with this name, without the effect of conditions.
    #[inline(always)]
    pub fn member(&self, states: States, name: &[u8]) -> States {
        let mut reached = 0;
        for at in bits(states & self.into_objects) {
            let node = &self.nodes[at];
            reached |= node.any;
            for (known, next) in &node.keys {
                if known == name {
                    reached |= next;
                }
            }
        }
        reached
    }

    /// Returns the states of the element with this index, without the effect of conditions.
    #[inline(always)]
    pub fn element(&self, states: States, index: u64) -> States {
        let mut reached = 0;
        for at in bits(states & self.into_arrays) {
            let node = &self.nodes[at];
            reached |= node.any;
            for (from, to, next) in &node.slices {
                if (*from..*to).contains(&index) {
                    reached |= next;
                }
            }
        }
        reached
    }

    /// Whether any path has a condition.
    #[inline(always)]
    pub fn has_any_condition(&self) -> bool {
        self.conditions
    }

    /// Whether conditions apply to the members or elements of a value with these states.
    #[inline(always)]
    pub fn has_conditions(&self, states: States) -> bool {
        bits(states).any(|at| !self.nodes[at].conditions.is_empty())
    }

    /// Returns the conditions on the members or elements of a value with these states, each with the states
    /// that it adds.
    pub(super) fn conditions(&self, states: States) -> impl Iterator<Item = (&Condition, States)> {
        bits(states).flat_map(|at| &self.nodes[at].conditions).map(|(condition, states)| (condition, *states))
    }
}

#[inline(always)]
fn bits(mut states: States) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if states == 0 {
            return None;
        }
        let at = states.trailing_zeros() as usize;
        states &= states - 1;
        Some(at)
    })
}
