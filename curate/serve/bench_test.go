package serve

import (
	"encoding/json"
	"fmt"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// bench sends orders to a server as the page does, with 5,700 labels, as many as GLDv2 has, and with
// ten times as many. It measures the request, the session, the disk and the answer.
func bench(b *testing.B, next func(version, labels int, last answer) order) {
	for _, n := range []int{5700, 57000} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			_, a, _ := newServer(b, testDraft(n), nil)
			var last answer
			for b.Loop() {
				body := must.Get(json.Marshal(next(last.version(), n, last)))(b)
				resp, text := a.do("POST", "/api/edit", string(body), nil)
				if resp.StatusCode != 200 {
					b.Fatal(text)
				}
				last = answer{}
				must.Do(b, json.Unmarshal([]byte(text), &last))
			}
		})
	}
}

func (a answer) version() int {
	if a.View == nil {
		return 0
	}
	return a.Version
}

// BenchmarkEdit moves one label.
func BenchmarkEdit(b *testing.B) {
	bench(b, func(version, labels int, _ answer) order {
		return move(version, fmt.Sprint(version), "group", version%labels)
	})
}

// BenchmarkUndo undoes an edit of one label and redoes it.
func BenchmarkUndo(b *testing.B) {
	bench(b, func(version, _ int, last answer) order {
		switch id := fmt.Sprintf("undo-%d-now", version); {
		case version == 0:
			return move(0, "first", "group", 3)
		case last.Redo > 0:
			return order{ID: id, Base: version, Op: curate.Revert, Of: last.Redo}
		default:
			return order{ID: id, Base: version, Op: curate.Revert, Of: last.Undo}
		}
	})
}

// BenchmarkEditOfAll moves all labels at once to one of two groups, as a curator does with the
// results of a search.
func BenchmarkEditOfAll(b *testing.B) {
	bench(b, func(version, labels int, _ answer) order {
		all := make([]int, labels)
		for i := range all {
			all[i] = i
		}
		return move(version, fmt.Sprint(version), fmt.Sprintf("group %d", version%2), all...)
	})
}
