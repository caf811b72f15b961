package tune

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/seal"
)

// Any bytes with a right checksum are either an error, or a search that can be played to its end within its
// folder.
func FuzzSearch(f *testing.F) {
	hostile := filepath.Join("..", "..", "cmd", "hgld", "testdata", "cases", "hostile")
	forged, err := filepath.Glob(filepath.Join(hostile, "tune", "*.json"))
	if err != nil || len(forged) < 5 {
		f.Fatalf("%d forged files, %v", len(forged), err)
	}
	var p Plan
	for _, path := range forged {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var s Search
		if err := json.Unmarshal(data, &s); err != nil {
			f.Fatal(err)
		}
		p = s.Plan
		f.Add(data)
	}
	honest, err := json.Marshal(begin("", p))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(honest)
	f.Fuzz(func(t *testing.T, data []byte) {
		sealed, err := seal.JSON(data)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), sealed, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, p)
		if err != nil {
			var format *FormatError
			var other *OtherPlanError
			if !errors.As(err, &format) && !errors.As(err, &other) && !strings.Contains(err.Error(), "this hgld reads version") {
				t.Fatalf("error of an unexpected kind: %v", err)
			}
			return
		}
		for range 2 * len(s.Trials) {
			trial, round := s.Next()
			if trial == nil {
				break
			}
			if filepath.Dir(s.Dir(trial)) != dir || len(s.Assignments(trial)) != len(p.Over) || round >= len(s.Rounds) {
				t.Fatalf("%+v trains in %s", trial, s.Dir(trial))
			}
			percent := float64(round)
			trial.Results = append(trial.Results, &percent)
		}
		s.Ranked()
		s.Table()
	})
}
