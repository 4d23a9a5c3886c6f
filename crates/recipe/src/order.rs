//! The order of steps: each after those whose outputs it reads, otherwise as the file has them.

/// Orders nodes by what they need.
///
/// # Errors
/// A cycle, as the nodes along it; each needs the next one, and the last needs the first.
pub(super) fn order(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut ordered = Vec::with_capacity(needs.len());
    let mut done = vec![false; needs.len()];
    while let Some(next) =
        (0..needs.len()).find(|node| !done[*node] && needs[*node].iter().all(|need| done[*need]))
    {
        done[next] = true;
        ordered.push(next);
    }
    match done.iter().position(|done| !done) {
        None => Ok(ordered),
        Some(start) => Err(cycle(needs, &done, start)),
    }
}

/// Follows unfinished nodes from `start`: each needs another unfinished node, so the path comes back.
fn cycle(needs: &[Vec<usize>], done: &[bool], start: usize) -> Vec<usize> {
    let mut path = vec![start];
    loop {
        let here = path[path.len() - 1];
        let Some(next) = needs[here].iter().copied().find(|need| !done[*need]) else { return path };
        if let Some(at) = path.iter().position(|node| *node == next) {
            return path.split_off(at);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn what_is_needed_comes_first_and_the_file_decides_the_rest() {
        assert_eq!(order(&[vec![2], vec![], vec![], vec![0, 1]]), Ok(vec![1, 2, 0, 3]));
        assert_eq!(order(&[]), Ok(vec![]));
        // 0 needs the cycle and is not part of it.
        assert_eq!(order(&[vec![1], vec![2], vec![3], vec![1], vec![]]), Err(vec![1, 2, 3]));
        assert_eq!(order(&[vec![0]]), Err(vec![0]));
    }
}
