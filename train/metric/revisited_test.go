package metric

import (
	"math"
	"path/filepath"
	"testing"

	"hgld/internal/goldens"
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
						t.Errorf("%s: column %d = %v (%d skipped), want %v (%d)", letter, column, mean, skipped, number(expected), want.Skipped)
					}
				}
			}
		})
	}
}
