package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	drawing "hgld/internal/report"
	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
)

// Slices in any order, and one plan in one go, give the same report.
func TestSlicesGiveTheSameReport(t *testing.T) {
	reportOf := func(slices ...[2]int) string {
		dir := t.TempDir()
		c := plan.Trainer{Log: func(string, ...any) {}, Now: time.Now, Missing: func(*plan.Run) string { return "" }}
		c.Train = func(r *plan.Run) error {
			plan.WriteRun(t, r, float64(r.Seed)/10+float64(len(r.Name))/100, true)
			return nil
		}
		for _, s := range slices {
			p := plan.Planned(t, dir, plan.Scale{})
			c.Report = func() error { return report.WriteOf(p, drawing.Style{}) }
			if _, err := p.Train(p.Slice(s[0], s[1]), c); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, report.PageFile))
		if err != nil || !strings.Contains(string(text), "6 of 6 runs are finished") {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(text)
	}
	if whole := reportOf([2]int{1, 1}); whole != reportOf([2]int{4, 4}, [2]int{2, 4}, [2]int{3, 4}, [2]int{1, 4}) {
		t.Error("four slices give another report than one call")
	}
}

func TestReportCountsRunsThatDiverged(t *testing.T) {
	p := plan.Planned(t, t.TempDir(), plan.Scale{})
	c := plan.Trainer{Log: func(string, ...any) {}, Now: time.Now, Missing: func(*plan.Run) string { return "" },
		Report: func() error { return report.WriteOf(p, drawing.Style{}) }, Train: func(r *plan.Run) error {
			if r.Name == "a-seed2" {
				return fmt.Errorf("step 4: %w", train.ErrNotFinite)
			}
			plan.WriteRun(t, r, 0.5, true)
			return nil
		}}
	if _, err := p.Train(p.Runs, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, report.MarkdownFile))
	if err != nil || !strings.Contains(string(text), "5 of 6 runs are finished, 1 diverged.") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Every study of hgld has a report before its first run.
func TestEveryStudyHasAReport(t *testing.T) {
	list, err := plan.Studies()
	must.Do(t, err)
	for _, s := range list {
		p, err := s.Make("studies/x", plan.Scale{}, func(path string) string { return path })
		if err == nil {
			_, err = report.Of(p, drawing.Style{})
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}
