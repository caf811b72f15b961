package text

// pair is a possible merge of a token with the next one.
type pair struct {
	merge
	at          int32
	left, right int32
}

// before orders merges: lowest rank first, then leftmost.
func (p pair) before(q pair) bool { return p.rank < q.rank || p.rank == q.rank && p.at < q.at }

// joiner merges the tokens of words. It reuses its memory for every word.
type joiner struct {
	merges map[[2]int32]merge
	ids    []int32
	next   []int32 // index of the next remaining token
	prev   []int32
	heap   []pair // the pair to merge next is in front
}

// gone replaces the id of a token that was merged into the previous one.
const gone = -1

// join merges pairs of tokens until no pair has a merge. It takes O(n log n), so that a word of
// 100 kB takes no longer than many short ones. It returns new memory.
func (j *joiner) join(ids []int32) []int32 {
	j.ids, j.next, j.prev, j.heap = ids, j.next[:0], j.prev[:0], j.heap[:0]
	for i := range ids {
		j.next, j.prev = append(j.next, int32(i)+1), append(j.prev, int32(i)-1)
	}
	for i := range ids {
		j.offer(int32(i))
	}
	left := len(ids)
	for len(j.heap) > 0 {
		p := j.pop()
		second := j.next[p.at]
		if ids[p.at] != p.left || int(second) == len(ids) || ids[second] != p.right {
			continue // one of the two has been merged with another
		}
		ids[p.at], ids[second] = p.id, gone
		left--
		after := j.next[second]
		j.next[p.at] = after
		if int(after) < len(ids) {
			j.prev[after] = p.at
		}
		j.offer(j.prev[p.at])
		j.offer(p.at)
	}
	out := make([]int32, 0, left)
	for i := int32(0); int(i) < len(ids); i = j.next[i] {
		out = append(out, ids[i])
	}
	return out
}

// offer adds the pair at index at to the heap if it has a merge.
func (j *joiner) offer(at int32) {
	if at < 0 || int(j.next[at]) == len(j.ids) {
		return
	}
	left, right := j.ids[at], j.ids[j.next[at]]
	m, ok := j.merges[[2]int32{left, right}]
	if !ok {
		return
	}
	h := append(j.heap, pair{m, at, left, right})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	j.heap = h
}

// pop takes the first pair from the heap.
func (j *joiner) pop() pair {
	h := j.heap
	first, n := h[0], len(h)-1
	h[0] = h[n]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	j.heap = h[:n]
	return first
}
