package metric

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
)

// largeZ is the integer of rule.json: FNV-1a of the name, then SplitMix64.
func largeZ(name string, i int) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	z := h + (uint64(i)+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// largeRow is one row of large.json by its rule: labels and embedding.
func largeRow(tag string, i, d, labels, duplicate int) ([]int32, []float64) {
	classes := func(i int) (fine, mid, coarse int) {
		fine = int(largeZ("metrics."+tag+".fine", i) % uint64(labels))
		mid = int(largeZ("metrics.mid", fine) % 40)
		return fine, mid, int(largeZ("metrics.coarse", mid) % 7)
	}
	fine, mid, coarse := classes(i)
	own := []int32{int32(fine), int32(100 + mid), int32(1000 + coarse)}
	if duplicate > 0 && i%duplicate == duplicate-1 {
		i--
		fine, mid, coarse = classes(i)
	}
	x := make([]float64, d)
	term := func(name string, at int, mod uint64) float64 {
		return float64(largeZ(name, at)%mod) - float64(mod/2)
	}
	for j := range x {
		x[j] = term("metrics.coarse.emb", coarse*d+j, 401) + term("metrics.mid.emb", mid*d+j, 401) +
			term("metrics.fine.emb", fine*d+j, 401) + term("metrics."+tag+".emb", i*d+j, 801)
	}
	return own, x
}

type largeFile struct {
	D              int    `json:"d"`
	GalleryTag     string `json:"gallery_tag"`
	QueryTag       string `json:"query_tag"`
	FineLabels     int    `json:"fine_labels"`
	DuplicateEvery int    `json:"duplicate_every"`
	FirstRows      struct {
		Labels     [][]int32   `json:"labels"`
		Embeddings [][]float64 `json:"embeddings"`
	} `json:"first_rows"`
	Cases []struct {
		Name     string                 `json:"name"`
		Q        int                    `json:"Q"`
		N        int                    `json:"N"`
		Self     bool                   `json:"self"`
		Expected map[string]expectation `json:"expected"`
	} `json:"cases"`
}

func TestGoldenLarge(t *testing.T) {
	var file largeFile
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "metrics"), "large.json"), &file)
	rows := func(tag string, n, duplicate int) (labels [][]int32, x [][]float64) {
		for i := range n {
			l, e := largeRow(tag, i, file.D, file.FineLabels, duplicate)
			labels, x = append(labels, l), append(x, e)
		}
		return labels, x
	}
	for _, c := range file.Cases {
		t.Run("metrics/"+c.Name, func(t *testing.T) {
			galleryLabels, gallery := rows(file.GalleryTag, c.N, file.DuplicateEvery)
			for i, want := range file.FirstRows.Labels {
				if !slices.Equal(galleryLabels[i], want) || !slices.Equal(gallery[i], file.FirstRows.Embeddings[i]) {
					t.Fatalf("row %d does not follow the rule", i)
				}
			}
			queryLabels, query := galleryLabels, gallery
			if !c.Self {
				queryLabels, query = rows(file.QueryTag, c.Q, 0)
			}
			ranked := make([][]byte, c.Q)
			scores := make([]float64, c.N)
			for q := range c.Q {
				for i, g := range gallery {
					scores[i] = 0
					for j, x := range g {
						scores[i] += x * query[q][j]
					}
				}
				self := -1
				if c.Self {
					self = q
				}
				ranked[q], _ = rank(scores, queryLabels[q], galleryLabels, self)
			}
			for name, want := range c.Expected {
				ties := map[string]Ties{"score_then_row": ScoreThenRow, "average_ties": AverageTies}[name]
				set := largeSet(want)
				keys := set.Keys(3)
				values := make([][]float64, len(keys))
				row := make([]float64, len(keys))
				list := NewList(3, ties)
				for _, shared := range ranked {
					list.Reset(shared)
					set.Measure(row, list)
					for i, v := range row {
						values[i] = append(values[i], v)
					}
				}
				want.PerQuery = want.FirstQueries
				// 2,000 queries against 2,000 items: the file's own tolerance.
				compare(t, name, keys, values, want, 1e-9)
			}
		})
	}
}

// largeSet is the list of metrics of large.json, from the keys that it expects.
func largeSet(want expectation) Set {
	s := Set{AP{}, MAPAtR{}, MAPAt{100}, ASI{}, NDCG{}, HardAP{1}, HardAP{2}, HardAP{3}}
	for _, k := range []int{1, 10, 100} {
		s = append(s, Recall{k}, Precision{k}, TrueRecall{k})
	}
	for key := range want.Mean {
		label, isHAP := strings.CutPrefix(key, "H-AP:")
		if !isHAP {
			continue
		}
		relevance := map[string]Relevance{
			"pop_a1": Pop{Alpha: 1}, "pop_a3": Pop{Alpha: 3}, "pop_a5": Pop{Alpha: 5},
			"pop_self_a1": Pop{Alpha: 1, CountSelf: true}, "power_a1": Power{1}, "power_a5": Power{5},
			"map_uniform": Map{Alpha: 1}, "map_geometric": Map{Weights: []float64{0.25, 0.5, 1}},
		}[label]
		s = append(s, HAP{Relevance: relevance, Label: label})
	}
	return s
}
