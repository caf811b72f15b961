package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
	"hgld/train/device/cpu"
)

// In the first version of hgld.yaml and of checkpoints, warmup, idle and warmup_advances meant
// what freeze, frozen and freeze_advances mean now.
func TestOldKeysOfTheScheduleFreeze(t *testing.T) {
	old := map[string]any{"name": "cosine", "warmup": 5, "idle": []string{"backbone", "head"}, "warmup_advances": true}
	want := Schedule{Named: Named{Name: "cosine"}, Freeze: 5, Frozen: []string{"backbone", "head"}, Advances: true}
	text, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	var got Schedule
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from JSON %+v, %v", got, err)
	}
	if text, err = yaml.Marshal(old); err != nil {
		t.Fatal(err)
	}
	got, want.Old = Schedule{}, true
	if err := settings.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from YAML %+v, %v", got, err)
	}
	got, want = Schedule{}, Schedule{Named: Named{Name: "cosine"}, WarmUp: 5, Frozen: []string{"head"}}
	if err := settings.Unmarshal([]byte("{name: cosine, warmup: 5, frozen: [head]}"), &got); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("of today %+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"name":"cosine","warmup":5,"frozen":["head"]}`), &got); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("of today, JSON %+v, %v", got, err)
	}
}

// A run of the first version continues: its checkpoints have the old keys and version 1.
func TestRunWithOldKeysContinues(t *testing.T) {
	c, d := tiny(6)
	c.Schedule.Freeze = 4
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 3})
	list, err := checkpoints(dir)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	folder := list[len(list)-1]
	text, err := os.ReadFile(filepath.Join(folder, stateFile))
	if err != nil {
		t.Fatal(err)
	}
	old := strings.NewReplacer(`"freeze"`, `"warmup"`, `"frozen"`, `"idle"`, `"hgld_checkpoint": 2`, `"hgld_checkpoint": 1`).
		Replace(string(text))
	if strings.Count(old, `"warmup"`) != 1 || strings.Count(old, `"idle"`) != 1 || !strings.Contains(old, `"hgld_checkpoint": 1`) {
		t.Fatalf("not the text of an old checkpoint:\n%s", old)
	}
	if err := os.WriteFile(filepath.Join(folder, stateFile), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	was, now := fmt.Sprintf("%x", sha256.Sum256(text)), fmt.Sprintf("%x", sha256.Sum256([]byte(old)))
	sums = bytes.Replace(sums, []byte(was), []byte(now), 1)
	if err := os.WriteFile(filepath.Join(folder, sumsFile), sums, 0o644); err != nil {
		t.Fatal(err)
	}
	events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	if n := len(events); n == 0 || events[0].Step != 4 {
		t.Errorf("it does not continue: %+v", events)
	}
	c.Schedule.Freeze = 3
	_, err = New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
	if err == nil || !strings.Contains(err.Error(), "schedule.freeze is 3") {
		t.Errorf("other settings: %v", err)
	}
}

// The rate of a warm-up rises from 1/n of the base rate to the whole, and a cosine without a
// length ends with the run.
func TestWarmUpRisesBeforeTheSchedule(t *testing.T) {
	c := Default()
	c.Steps, c.Schedule.WarmUp = 14, 4
	p, err := c.resolve()
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]float64{0: .25, 1: .5, 3: 1, 4: 1, 9: .5, 14: 0} {
		if got := p.schedule.Rate(1, at); got < want-1e-12 || got > want+1e-12 { // closed forms in float64
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	for text, change := range map[string]func(*Config){
		"less than the length of the run": func(c *Config) { c.Schedule.WarmUp = 14 },
		"its own warm-up":                 func(c *Config) { c.Schedule.Name = "linear-cosine" },
		"whole number from 0":             func(c *Config) { c.Schedule.WarmUp = -1 },
	} {
		c := c
		change(&c)
		if _, err := c.resolve(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want %q: %v", text, err)
		}
	}
}
