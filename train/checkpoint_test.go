package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/device/cpu"
)

func TestOnlyTheNewestCheckpointsStay(t *testing.T) {
	c, d := tiny(10)
	c.Run.Checkpoint, c.Run.Keep = 2, 3
	dir := t.TempDir()
	left := filepath.Join(dir, checkpointFolder, ".new-123")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	saved := 0
	for _, e := range events {
		if e.Kind == Saved {
			saved++
		}
	}
	if saved != 5 { // of steps 2, 4, 6, 8 and 10; the last is not saved twice
		t.Errorf("%d checkpoints were saved", saved)
	}
	list, err := checkpoints(dir)
	if err != nil || len(list) != 3 || !strings.HasSuffix(list[0], "step-00000006") {
		t.Errorf("left are %v, %v", list, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, checkpointFolder))
	if err != nil || len(entries) != 3 {
		t.Errorf("what an interrupted writer left is still there: %v, %v", entries, err)
	}
}

func TestCheckpointIsReadableByOthers(t *testing.T) {
	c, d := tiny(3)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Origin: map[string]string{"tool": "test"}})
	list, _ := checkpoints(dir)
	f, err := tensorfile.OpenSafetensors(filepath.Join(list[0], modelFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, shape, err := f.Shape("backbone.conv1.weight"); err != nil || len(shape) != 4 || shape[1] != 3 {
		t.Errorf("conv1.weight is %v, %v; want torch's [8 3 3 3]", shape, err)
	}
	for _, name := range f.Names() {
		if strings.HasPrefix(name, optimizerPrefix) {
			t.Errorf("%s stands among the weights", name)
		}
	}
	s, err := readState(list[0])
	if err != nil || s.Origin["tool"] != "test" || s.Step != 3 || s.Config.Seed != c.Seed || len(s.Data) != 64 {
		t.Errorf("state %+v, %v", s, err)
	}
}

func TestDamagedCheckpointsAreFound(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	list, _ := checkpoints(dir)
	for _, name := range []string{modelFile, optimizerFile, stateFile} {
		path := filepath.Join(list[0], name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		broken := bytes.Clone(whole)
		broken[len(broken)/2] ^= 4
		for what, data := range map[string][]byte{"a flipped bit": broken, "half a file": whole[:len(whole)/2],
			"nothing": nil} {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			if data == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			_, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %s: error %v", what, name, err)
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir}) // whole again
}

func TestNewerCheckpointIsRefused(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	list, _ := checkpoints(dir)
	path := filepath.Join(list[0], stateFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(data, fmt.Appendf(nil, `"hgld_checkpoint": %d`, CheckpointVersion),
		fmt.Appendf(nil, `"hgld_checkpoint": %d`, CheckpointVersion+1), 1)
	for name, text := range map[string][]byte{stateFile: newer,
		sumsFile: fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(newer), stateFile)} {
		if err := os.WriteFile(filepath.Join(list[0], name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir, cpu.New(1), nil, false); err == nil ||
		!strings.Contains(err.Error(),
			fmt.Sprintf("version %d; this hgld reads up to %d", CheckpointVersion+1, CheckpointVersion)) {
		t.Errorf("error %v", err)
	}
}

func TestOpenRefusesWhatIsNotARun(t *testing.T) {
	if _, err := Open(t.TempDir(), cpu.New(1), nil, false); err == nil ||
		!strings.Contains(err.Error(), "neither a run directory with a checkpoint nor a checkpoint") {
		t.Errorf("error %v", err)
	}
}

// A write that fails, as on a full disk, leaves the checkpoints there were.
func TestFailedWriteLeavesTheOldCheckpoint(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 2})
	before := weights(t, dir)
	list, _ := checkpoints(dir)
	s, err := readState(list[0])
	if err != nil {
		t.Fatal(err)
	}
	s.Step = 3
	bad := []tensorfile.Tensor{{Name: "x", DType: "F32", Shape: []int{4}, Data: make([]byte, 3)}}
	if _, err := writeCheckpoint(dir, s, bad, nil); err == nil {
		t.Fatal("a tensor whose data does not fit its shape was written")
	}
	after := weights(t, dir)
	for name := range before {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s changed", name)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, checkpointFolder)); len(entries) != 1 {
		t.Errorf("%d entries are left", len(entries))
	}
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: dir}); err != nil {
		t.Error(err)
	}
}

// A checkpoint whose hashes are right and whose settings are not: the bounds are those
// of every configuration.
func TestForgedCheckpointsMeetTheBounds(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	list, _ := checkpoints(dir)
	path := filepath.Join(list[0], stateFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for old, forged := range map[string][2]string{
		`"dim": 16`:    {`"dim": 2147483648`, "model.dim is 2147483648, want a whole number from 0 to 65536"},
		`"size": 16`:   {`"size": 1000000000`, "input.size is 1000000000"},
		`"batch": 16`:  {`"batch": -1`, "sampler.batch is -1"},
		`"resize": 18`: {`"resize": 1000000000`, "input.resize is 1000000000"},
		`"step": 2`:    {`"step": -1`, "step is -1"},
		`"clip": 0`: {`"clip": 0, "proxies": {"name": "sgd", "settings": {"momentum": -1e300}}`,
			"momentum is -1e+300"},
		`"seed": 11`: {`"seed": 11, "memory": {"size": 2147483648}`, "memory.size is 2147483648"},
		"\n      8,": {"\n      1000000000,", "widths is 1000000000"},
	} {
		text := bytes.Replace(data, []byte(old), []byte(forged[0]), 1)
		if bytes.Equal(text, data) {
			t.Errorf("%s is not there:\n%s", old, data)
			continue
		}
		for name, text := range map[string][]byte{stateFile: text,
			sumsFile: fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(text), stateFile)} {
			if err := os.WriteFile(filepath.Join(list[0], name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir, cpu.New(1), nil, false); err == nil || !strings.Contains(err.Error(), forged[1]) {
			t.Errorf("%s: error %v", forged[0], err)
		}
	}
}
