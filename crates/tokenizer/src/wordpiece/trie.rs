//! A double-array trie over bytes (Aoe 1989) with two roots, and the longest match in it.

/// A node's child by a byte is at `base ^ byte` if that node's parent is the node.
#[derive(Clone, Copy)]
struct Node {
    base: u32,
    parent: u32,
    /// The id of the key that ends here.
    id: u32,
}

/// No id, and no parent.
const NONE: u32 = u32::MAX;

const FREE: Node = Node { base: 0, parent: NONE, id: NONE };

/// Nodes are added in blocks of 256, the number of bytes, so that `base ^ byte` is always within.
const BLOCK: usize = 256;

/// Places that are tried for a node with several children before a block is added for it.
const TRIES: usize = 64;

/// Two sets of keys.
pub(super) struct Trie {
    nodes: Vec<Node>,
}

/// Which set of keys.
#[derive(Clone, Copy)]
pub(super) enum Root {
    /// Keys that begin a word.
    Begin = 0,
    /// Keys that continue one.
    Continue = 1,
}

/// A node whose children are still to be placed: the keys below it, and the number of bytes that they have in
/// common.
struct Pending<'k> {
    node: usize,
    keys: &'k [(&'k [u8], u32)],
    depth: usize,
}

impl Trie {
    /// A trie of keys that begin words and keys that continue them, each with its id. `None` if there are too
    /// many keys, or ids too large, for 32 bits.
    pub(super) fn new<'k>(
        mut begin: Vec<(&'k [u8], u32)>,
        mut continuing: Vec<(&'k [u8], u32)>,
    ) -> Option<Self> {
        for keys in [&mut begin, &mut continuing] {
            keys.sort_unstable();
            if keys.iter().any(|&(_, id)| id == NONE) {
                return None;
            }
        }
        let mut nodes = vec![FREE; BLOCK];
        // A root is its own parent.
        (nodes[0].parent, nodes[1].parent) = (0, 1);
        let mut first_free = 2;
        let mut pending = vec![
            Pending { node: Root::Begin as usize, keys: &begin, depth: 0 },
            Pending { node: Root::Continue as usize, keys: &continuing, depth: 0 },
        ];
        while let Some(Pending { node, mut keys, depth }) = pending.pop() {
            // Sorted, so the key that ends here is the first.
            if let Some((&(key, id), longer)) = keys.split_first()
                && key.len() == depth
            {
                nodes[node].id = id;
                keys = longer;
            }
            let children: Vec<Child<'_>> = keys
                .chunk_by(|(a, _), (b, _)| a[depth] == b[depth])
                .map(|keys| (keys[0].0[depth], keys))
                .collect();
            if children.is_empty() {
                continue;
            }
            while nodes.get(first_free).is_some_and(|node| node.parent != NONE) {
                first_free += 1;
            }
            let base = place(&mut nodes, first_free, &children);
            nodes[node].base = u32::try_from(base).ok()?;
            for (byte, keys) in children {
                let child = base ^ usize::from(byte);
                nodes[child].parent = u32::try_from(node).ok()?;
                pending.push(Pending { node: child, keys, depth: depth + 1 });
            }
        }
        Some(Self { nodes })
    }

    /// The longest key at the start of `text`: its id and its length.
    #[inline]
    pub(super) fn longest(&self, root: Root, text: &[u8]) -> Option<(u32, usize)> {
        let mut longest = None;
        let mut node = root as u32;
        let mut base = self.nodes[node as usize].base;
        for (index, &byte) in text.iter().enumerate() {
            let child = base ^ u32::from(byte);
            let found = self.nodes[child as usize];
            if found.parent != node || child == node {
                break;
            }
            if found.id != NONE {
                longest = Some((found.id, index + 1));
            }
            (node, base) = (child, found.base);
        }
        longest
    }
}

/// A byte, and the keys that continue with it, each with its id.
type Child<'a> = (u8, &'a [(&'a [u8], u32)]);

/// A base for children, so that all have free places. New places are added if none are found soon.
fn place(nodes: &mut Vec<Node>, first_free: usize, children: &[Child<'_>]) -> usize {
    let first = usize::from(children[0].0);
    let free = (first_free..nodes.len()).filter(|&at| nodes[at].parent == NONE).take(TRIES);
    let bases = free.map(|at| at ^ first);
    let fits =
        |base: &usize| children.iter().all(|&(byte, _)| nodes[base ^ usize::from(byte)].parent == NONE);
    let found = bases.into_iter().find(fits);
    found.unwrap_or_else(|| {
        let base = nodes.len();
        nodes.resize(base + BLOCK, FREE);
        base
    })
}
