package metric

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
)

func TestGoldenRevisited(t *testing.T) {
	var file struct {
		Cases []struct {
			Name     string      `json:"name"`
			Scores   [][]float64 `json:"scores"`
			Truth    []Truth     `json:"gnd"`
			Expected map[string]struct {
				MAP     *float64   `json:"mAP"`
				AP      []*float64 `json:"AP"`
				Queries int        `json:"queries"`
				Skipped int        `json:"skipped"`
				P1      *float64   `json:"mP@1"`
				P5      *float64   `json:"mP@5"`
				P10     *float64   `json:"mP@10"`
			} `json:"expected"`
		} `json:"cases"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "metrics"), "revisited.json"), &file)
	const tolerance = 1e-12 // the file's own
	for _, c := range file.Cases {
		t.Run("metrics/"+c.Name, func(t *testing.T) {
			for protocol, letter := range []string{"E", "M", "H"} {
				want := c.Expected[letter]
				columns := map[int][]float64{} // 0: AP; k: mP@k
				add := func(column int, v float64, ok bool) {
					if !ok {
						v = math.NaN()
					}
					columns[column] = append(columns[column], v)
				}
				for q, scores := range c.Scores {
					_, order := rank(scores, nil, make([][]int32, len(scores)), -1)
					rows := make([]int32, len(order))
					for i, row := range order {
						rows[i] = int32(row)
					}
					at := Protocol(protocol).Positions(rows, c.Truth[q])
					ap, ok := TrapezoidAP(at)
					add(0, ap, ok)
					for _, k := range []int{1, 5, 10} {
						p, ok := PrecisionWithin(at, k)
						add(k, p, ok)
					}
					if !near(columns[0][q], want.AP[q], tolerance) {
						t.Errorf("%s: AP of query %d = %v, want %v", letter, q, columns[0][q], number(want.AP[q]))
					}
				}
				for column, expected := range map[int]*float64{0: want.MAP, 1: want.P1, 5: want.P5, 10: want.P10} {
					mean, skipped := Mean(columns[column])
					if !near(mean, expected, tolerance) || skipped != want.Skipped {
						t.Errorf("%s: column %d = %v (%d skipped), want %v (%d)", letter, column, mean, skipped, number(expected),
							want.Skipped)
					}
				}
			}
			compareMeans(t, c.Truth, c.Scores, func(protocol int) []*float64 {
				want := c.Expected[[]string{"E", "M", "H"}[protocol]]
				return []*float64{want.MAP, want.P1, want.P5, want.P10}
			})
		})
	}
}

// compareMeans compares Revisited with the expected mAP, mP@1, mP@5 and mP@10.
func compareMeans(t *testing.T, truth []Truth, scores [][]float64, expected func(protocol int) []*float64) {
	t.Helper()
	r := NewRevisited(truth)
	for q := range scores {
		_, order := rank(scores[q], nil, make([][]int32, len(scores[q])), -1)
		rows := make([]int32, len(order))
		for i, row := range order {
			rows[i] = int32(row)
		}
		r.Add(q, rows)
	}
	for protocol, m := range r.Means() {
		for i, want := range expected(protocol) {
			if got := append([]float64{m.AP}, m.Precision[:]...)[i]; !near(got, want, 1e-12) {
				t.Errorf("%v: column %d = %v, want %v", m.Protocol, i, got, number(want))
			}
		}
	}
}

func TestTruthsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                              "truth of 0 queries, want 2, one for each vector",
		`[{"easy":[5]},{}]`:               "query 0 has easy row 5; want 0 to 4",
		`[{},{"easy":[1],"junk":[1]}]`:    "query 1 has row 1 as easy and as junk",
		`{}`:                              `want [{"easy"`,
		`{"gnd": [{"hard": [-1]}, {}]}`:   "query 0 has hard row -1",
		`{"gnd": [{"hard": ["a"]}, "b"]}`: `want [{"easy"`,
	} {
		if _, err := ParseTruths([]byte(text), 2, 5); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	list, err := ParseTruths([]byte(`{"gnd": [{"easy": [4]}, {}]}`), 2, 5)
	if err != nil || len(list) != 2 || list[0].Easy[0] != 4 {
		t.Errorf("%v, %v", list, err)
	}
}
