package text

import (
	"cmp"
	"container/heap"
)

// pair is a possible merge of a token with the next one.
type pair struct {
	merge
	at          int32
	left, right int32
}

// joiner merges the tokens of words. It reuses its memory for every word.
type joiner struct {
	merges map[[2]int32]merge
	ids    []int32
	next   []int32 // index of the next remaining token
	prev   []int32
	heap   pairs // by rank, then from the left
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
		p := heap.Pop(&j.heap).(pair)
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
	heap.Push(&j.heap, pair{m, at, left, right})
}

// pairs is a heap with the pair to merge next in front.
type pairs []pair

func (h pairs) Len() int { return len(h) }
func (h pairs) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(h[i].rank, h[k].rank), cmp.Compare(h[i].at, h[k].at)) < 0
}
func (h pairs) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *pairs) Push(p any)   { *h = append(*h, p.(pair)) }

func (h *pairs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
