//! A pickle read as data: what a checkpoint of PyTorch holds, without running any of it.
//!
//! A pickle is a program for a small stack machine. This one knows the instructions that dictionaries, lists, numbers and
//! texts need, and the few functions that rebuild a tensor; whatever else a pickle would call is refused by name. Values live in one
//! arena and refer to each other by number, so that no file, however it is nested, can exhaust the stack. A few bytes
//! can copy a value of any size again and again, so every value that is made or copied counts, and there is a
//! most. O(bytes).
//!
//! The instructions: the module `pickletools` of Python.

use std::rc::Rc;

/// The most values that a pickle may make: a model has some ten for each of its tensors.
const MOST_VALUES: usize = 2_000_000;

/// The most values that are told as JSON; what comes later is null.
const MOST_TOLD: usize = 100_000;

/// A value; the larger ones are in the arena.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    Node(usize),
}

/// A value that is made of others.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Global(Rc<str>),
    Storage(Storage),
    Tensor(Strided),
}

/// Where the numbers of tensors lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// Its type as PyTorch calls it, such as `FloatStorage`.
    pub kind: Rc<str>,
    /// The name of its file in the archive.
    pub key: Rc<str>,
    /// How many numbers it has.
    pub len: usize,
}

/// A tensor as a view of a storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Strided {
    pub storage: Storage,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// What a pickle holds.
#[derive(Debug)]
pub struct Pickle {
    nodes: Vec<Node>,
    /// The outermost value.
    pub root: Value,
    /// How many bytes it took.
    pub len: usize,
}

impl Pickle {
    /// All values that are made of others.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node behind a value.
    pub fn node(&self, value: &Value) -> Option<&Node> {
        match value {
            Value::Node(at) => self.nodes.get(*at),
            _ => None,
        }
    }

    /// The entries of a dictionary with texts as keys.
    pub fn entries(&self, value: &Value) -> impl Iterator<Item = (&str, &Value)> {
        let pairs = match self.node(value) {
            Some(Node::Dict(pairs)) => pairs.as_slice(),
            _ => &[],
        };
        pairs.iter().filter_map(|(key, value)| match key {
            Value::Text(key) => Some((&**key, value)),
            _ => None,
        })
    }

    /// Plain values as JSON; tensors, whatever is nested more than eight deep, and all beyond the first hundred thousand
    /// become null. (Lists of one list that is remembered are small in a pickle and of any size as JSON.)
    pub fn json(&self, value: &Value) -> serde_json::Value {
        self.json_within(value, 8, &mut MOST_TOLD.clone())
    }

    fn json_within(&self, value: &Value, depth: usize, left: &mut usize) -> serde_json::Value {
        use serde_json::Value as Json;
        if *left == 0 {
            return Json::Null;
        }
        *left -= 1;
        match (value, self.node(value)) {
            (Value::Bool(b), _) => Json::from(*b),
            (Value::Int(i), _) => Json::from(*i),
            (Value::Float(f), _) => Json::from(*f),
            (Value::Text(t), _) => Json::from(&**t),
            (_, Some(Node::Dict(_))) if depth > 0 => {
                let entries = self.entries(value);
                let few = entries.take(*left);
                few.map(|(k, v)| (k.to_string(), self.json_within(v, depth - 1, left))).collect()
            }
            (_, Some(Node::Tuple(items) | Node::List(items))) if depth > 0 => {
                items.iter().take(*left).map(|v| self.json_within(v, depth - 1, left)).collect()
            }
            _ => Json::Null,
        }
    }
}

/// Reads the first pickle in `bytes`.
pub fn read(bytes: &[u8]) -> Result<Pickle, String> {
    let mut machine = Machine {
        bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        nodes: Vec::new(),
        values: 0,
    };
    while machine.step()? {}
    let root = machine.pop()?;
    Ok(Pickle { nodes: machine.nodes, root, len: machine.at })
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: Vec<Value>,
    nodes: Vec<Node>,
    /// Values that were made or copied so far.
    values: usize,
}

impl Machine<'_> {
    /// One instruction; false after the last.
    fn step(&mut self) -> Result<bool, String> {
        let value = match self.take(1)?[0] {
            b'.' => return Ok(false),
            0x80 => return self.skip(1), // PROTO
            0x95 => return self.skip(8), // FRAME
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(true);
            }
            b'0' => {
                self.pop()?;
                return Ok(true);
            }
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'K' => Value::Int(self.number(1)? as i64),
            b'M' => Value::Int(self.number(2)? as i64),
            b'J' => Value::Int(i64::from(self.number(4)? as u32 as i32)),
            0x8a => self.long()?,
            b'G' => {
                let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
                Value::Float(f64::from_be_bytes(bytes))
            }
            b'X' => self.text(4)?,
            0x8c | b'U' | b'C' => self.text(1)?,
            0x8d => self.text(8)?,
            b'T' | b'B' => self.text(4)?,
            b')' => self.add(Node::Tuple(Vec::new())),
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let items = self.since_mark()?;
                self.add(Node::Tuple(items))
            }
            b']' | 0x8f => self.add(Node::List(Vec::new())),
            b'}' => self.add(Node::Dict(Vec::new())),
            b'a' => {
                let item = self.pop()?;
                return self.extend(vec![item]);
            }
            b'e' | 0x90 => {
                let items = self.since_mark()?;
                return self.extend(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.insert(vec![key, value]);
            }
            b'u' => {
                let items = self.since_mark()?;
                return self.insert(items);
            }
            b'q' => {
                let at = self.number(1)?;
                return self.remember(at);
            }
            b'r' => {
                let at = self.number(4)?;
                return self.remember(at);
            }
            0x94 => return self.remember(self.memo.len()),
            b'h' => {
                let at = self.number(1)?;
                self.recall(at)?
            }
            b'j' => {
                let at = self.number(4)?;
                self.recall(at)?
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(&module, &name)?
            }
            0x93 => match (self.pop()?, self.pop()?) {
                (Value::Text(name), Value::Text(module)) => self.global(&module, &name)?,
                _ => return Err(self.damaged("a name is not a text")),
            },
            b'Q' => self.storage()?,
            b'R' | 0x81 => self.call()?,
            b'b' => return self.build(),
            other => {
                return Err(format!(
                    "its pickle has the instruction {other:#04x} at byte {}, which no table of weights needs",
                    self.at - 1
                ));
            }
        };
        self.stack.push(value);
        self.spend(1)?;
        Ok(true)
    }

    /// Counts values that are made or copied.
    fn spend(&mut self, values: usize) -> Result<(), String> {
        self.values = self.values.saturating_add(values);
        if self.values <= MOST_VALUES {
            return Ok(());
        }
        Err(format!(
            "its pickle makes more than {MOST_VALUES} values, which no table of weights needs"
        ))
    }

    fn take(&mut self, len: usize) -> Result<&[u8], String> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or("its pickle ends in the middle; copy or download the file again")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn skip(&mut self, len: usize) -> Result<bool, String> {
        self.take(len).map(|_| true)
    }

    fn damaged(&self, what: &str) -> String {
        format!("its pickle is damaged before byte {}: {what}", self.at)
    }

    /// An unsigned number of this many bytes, the lowest first.
    fn number(&mut self, len: usize) -> Result<usize, String> {
        Ok(self.take(len)?.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
    }

    fn long(&mut self) -> Result<Value, String> {
        let len = self.number(1)?;
        let bytes = self.take(len)?;
        let sign = bytes.last().map_or(0, |b| if b & 0x80 == 0 { 0 } else { 0xff });
        let mut all = [sign; 8];
        // What does not fit is no size or stride; it can only be the magic number of a format or a seed.
        let kept = bytes.len().min(8);
        all[..kept].copy_from_slice(&bytes[..kept]);
        Ok(Value::Int(i64::from_le_bytes(all)))
    }

    fn text(&mut self, size: usize) -> Result<Value, String> {
        let len = self.number(size)?;
        let text: Rc<str> = String::from_utf8_lossy(self.take(len)?).into();
        Ok(Value::Text(text))
    }

    fn line(&mut self) -> Result<String, String> {
        let rest = &self.bytes[self.at..];
        let len = rest
            .iter()
            .position(|b| *b == b'\n')
            .ok_or("its pickle ends in the middle of a name")?;
        let line = String::from_utf8_lossy(&rest[..len]).into_owned();
        self.at += len + 1;
        Ok(line)
    }

    fn add(&mut self, node: Node) -> Value {
        self.nodes.push(node);
        Value::Node(self.nodes.len() - 1)
    }

    fn node(&self, value: &Value) -> Option<&Node> {
        match value {
            Value::Node(at) => self.nodes.get(*at),
            _ => None,
        }
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| self.damaged("a value is missing"))
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        let mark = mark.ok_or_else(|| self.damaged("the beginning of a list is missing"))?;
        Ok(self.stack.split_off(mark))
    }

    fn tuple(&mut self, len: usize) -> Result<Value, String> {
        let from =
            self.stack.len().checked_sub(len).ok_or_else(|| self.damaged("a tuple is short"))?;
        let items = self.stack.split_off(from);
        Ok(self.add(Node::Tuple(items)))
    }

    fn top(&mut self) -> Result<&mut Node, String> {
        let error = self.damaged("there is nothing to add to");
        match self.stack.last() {
            Some(Value::Node(at)) => self.nodes.get_mut(*at).ok_or(error),
            _ => Err(error),
        }
    }

    fn extend(&mut self, items: Vec<Value>) -> Result<bool, String> {
        match self.top()? {
            Node::List(list) => list.extend(items),
            _ => return Err(self.damaged("an entry is added to what is no list")),
        }
        Ok(true)
    }

    fn insert(&mut self, items: Vec<Value>) -> Result<bool, String> {
        let odd = !items.len().is_multiple_of(2);
        match self.top()? {
            Node::Dict(dict) if !odd => {
                dict.extend(items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())));
                Ok(true)
            }
            _ => Err(self.damaged("an entry is added to what is no dictionary")),
        }
    }

    fn remember(&mut self, at: usize) -> Result<bool, String> {
        // A writer numbers what it remembers from 0, so a number is never far beyond what was read.
        if at > self.at {
            return Err(self.damaged("a value is remembered under a number that is too large"));
        }
        let value = self.stack.last().cloned().ok_or_else(|| self.damaged("a value is missing"))?;
        if self.memo.len() <= at {
            self.spend(at + 1 - self.memo.len())?;
            self.memo.resize(at + 1, Value::None);
        }
        self.memo[at] = value;
        Ok(true)
    }

    fn recall(&self, at: usize) -> Result<Value, String> {
        self.memo.get(at).cloned().ok_or_else(|| self.damaged("a value was never remembered"))
    }

    /// A name of something in Python: only those that tables of weights need.
    fn global(&mut self, module: &str, name: &str) -> Result<Value, String> {
        let known = match module {
            "collections" => name == "OrderedDict",
            "torch._utils" => REBUILD.contains(&name),
            "torch" => name.ends_with("Storage") || name == "Size",
            "argparse" => name == "Namespace",
            _ => false,
        };
        if !known {
            return Err(format!(
                "it would run `{module}.{name}`, which is not a part of weights; save only the weights, in Python \
                 `torch.save(model.state_dict(), path)`, or convert it to safetensors"
            ));
        }
        Ok(self.add(Node::Global(name.into())))
    }

    /// ("storage", type, key, device, length)
    fn storage(&mut self) -> Result<Value, String> {
        let id = self.pop()?;
        let storage = match self.node(&id) {
            Some(Node::Tuple(parts)) => match parts.as_slice() {
                [_, kind, Value::Text(key), _, Value::Int(len), ..] => match self.node(kind) {
                    Some(Node::Global(kind)) => usize::try_from(*len).ok().map(|len| Storage {
                        kind: kind.clone(),
                        key: key.clone(),
                        len,
                    }),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let storage =
            storage.ok_or_else(|| self.damaged("a storage is not described as PyTorch does"))?;
        Ok(self.add(Node::Storage(storage)))
    }

    /// Calls one of the known functions.
    fn call(&mut self) -> Result<Value, String> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let (Some(Node::Global(name)), Some(Node::Tuple(arguments))) =
            (self.node(&function), self.node(&arguments))
        else {
            return Err(self.damaged("something is called that is no function"));
        };
        let (name, arguments) = (name.clone(), arguments.clone());
        self.spend(arguments.len())?;
        match (&*name, arguments.as_slice()) {
            ("OrderedDict" | "Namespace", []) => Ok(self.add(Node::Dict(Vec::new()))),
            ("Size", [sizes]) => Ok(sizes.clone()),
            ("_rebuild_parameter" | "_rebuild_parameter_with_state", [tensor, ..]) => {
                Ok(tensor.clone())
            }
            (
                "_rebuild_tensor" | "_rebuild_tensor_v2",
                [storage, Value::Int(offset), shape, strides, ..],
            ) => {
                let tensor = match (self.node(storage), usize::try_from(*offset)) {
                    (Some(Node::Storage(storage)), Ok(offset)) => {
                        let sizes = self.sizes(shape).zip(self.sizes(strides));
                        let storage = storage.clone();
                        sizes.map(|(shape, strides)| Strided { storage, offset, shape, strides })
                    }
                    _ => None,
                };
                let tensor = tensor.filter(|t| t.shape.len() == t.strides.len());
                self.spend(tensor.as_ref().map_or(0, |t| 2 * t.shape.len()))?;
                let tensor = tensor
                    .ok_or_else(|| self.damaged("a tensor is not described as PyTorch does"))?;
                Ok(self.add(Node::Tensor(tensor)))
            }
            (name, _) => {
                Err(self.damaged(&format!("`{name}` is called with other things than it takes")))
            }
        }
    }

    fn sizes(&self, value: &Value) -> Option<Vec<usize>> {
        let (Node::Tuple(items) | Node::List(items)) = self.node(value)? else { return None };
        let size = |v: &Value| match v {
            Value::Int(i) => usize::try_from(*i).ok(),
            _ => None,
        };
        items.iter().map(size).collect()
    }

    /// Attributes of an object: those of a namespace are its entries, those of a dictionary do not matter.
    fn build(&mut self) -> Result<bool, String> {
        let state = self.pop()?;
        let state = match self.node(&state) {
            Some(Node::Dict(pairs)) => pairs.clone(),
            _ => Vec::new(),
        };
        self.spend(state.len())?;
        if let Node::Dict(pairs) = self.top()?
            && pairs.is_empty()
        {
            *pairs = state;
        }
        Ok(true)
    }
}

/// Functions of `torch._utils` that rebuild a tensor.
const REBUILD: &[&str] = &[
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_a_pickle_is_refused_by_name() {
        // What `pickle.dumps` makes of an object whose __reduce__ is os.system("true").
        let error = read(b"cposix\nsystem\n(X\x04\x00\x00\x00truetR.").unwrap_err();
        assert!(error.starts_with("it would run `posix.system`"), "{error}");
        let error = read(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.").unwrap_err();
        assert!(error.contains("`builtins.eval`"), "{error}");
    }

    #[test]
    fn plain_values_are_read() {
        // {"a": [1, -2, 2.5], "b": (True, None), "c": {"d": "x"}}
        let bytes = b"}(X\x01\x00\x00\x00a](K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00eX\x01\x00\x00\x00b\x88N\x86X\x01\x00\x00\x00c}X\x01\x00\x00\x00dX\x01\x00\x00\x00xsu.";
        let pickle = read(bytes).unwrap();
        let expected = serde_json::json!({"a": [1, -2, 2.5], "b": [true, null], "c": {"d": "x"}});
        assert_eq!(pickle.json(&pickle.root), expected);
        assert_eq!(pickle.len, bytes.len());
    }

    #[test]
    fn damaged_and_hostile_pickles_are_errors_and_never_panics() {
        let whole =
            b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01ccollections\nOrderedDict\nq\x02)Rq\x03u.";
        assert!(read(whole).is_ok());
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        for (at, byte) in (0..whole.len()).flat_map(|at| (0..=255).map(move |b| (at, b))) {
            let mut other = whole.to_vec();
            other[at] = byte;
            let _ = read(&other);
        }
        let deep = [&[b')'; 1][..], &[0x85; 1_000_000], b"."].concat();
        let pickle = read(&deep).unwrap();
        assert!(pickle.json(&pickle.root).is_array());
        let itself = read(b"}q\x00X\x01\x00\x00\x00ah\x00s.").unwrap();
        assert!(itself.json(&itself.root).is_object());
        assert!(read(b"Nr\xff\xff\xff\xff.").unwrap_err().contains("too large"));
    }

    /// A list of one remembered value, again and again, so deep: `](h\0h\0…e` and remember it.
    fn laughs(width: usize, depth: usize) -> Vec<u8> {
        let mut bytes = b"Nq\x00".to_vec();
        for _ in 0..depth {
            bytes.extend(b"](");
            bytes.extend(b"h\x00".repeat(width));
            bytes.extend(b"eq\x00");
        }
        bytes.push(b'.');
        bytes
    }

    #[test]
    fn a_small_pickle_never_becomes_a_large_value() {
        // As JSON the first would have 100^8 entries.
        let pickle = read(&laughs(100, 8)).unwrap();
        let told = serde_json::to_string(&pickle.json(&pickle.root)).unwrap();
        assert!(told.len() < 10 * MOST_TOLD, "{} bytes", told.len());
        // A dictionary of 50,000 entries that becomes the state of 100,000 objects.
        let entries = b"X\x01\x00\x00\x00aN".repeat(50_000);
        let copies = b"}h\x00b0".repeat(100_000);
        let states = [b"}(".as_slice(), &entries, b"uq\x000", &copies, b"N."].concat();
        assert!(read(&states).unwrap_err().contains("more than 2000000 values"));
        // A tuple of nothing takes one byte, and a value a hundred.
        let empties = [b")".repeat(3_000_000), b".".to_vec()].concat();
        assert!(read(&empties).unwrap_err().contains("more than 2000000 values"));
    }
}
