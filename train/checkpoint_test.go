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
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
)

func TestOnlyTheNewestCheckpointsStay(t *testing.T) {
	c, d := tiny(10)
	c.Run.Checkpoint, c.Run.Keep = 2, 3
	dir := t.TempDir()
	left := filepath.Join(dir, checkpoint.Folder, ".new-123")
	must.Do(t, os.MkdirAll(left, 0o755))
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
	list, err := checkpoint.List(dir)
	if err != nil || len(list) != 3 || !strings.HasSuffix(list[0], "step-00000006") {
		t.Errorf("left are %v, %v", list, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, checkpoint.Folder))
	if err != nil || len(entries) != 3 {
		t.Errorf("what an interrupted writer left is still there: %v, %v", entries, err)
	}
}

func TestCheckpointIsReadableByOthers(t *testing.T) {
	c, d := tiny(3)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Origin: map[string]string{"tool": "test"}})
	list, _ := checkpoint.List(dir)
	f, err := tensorfile.OpenSafetensors(filepath.Join(list[0], checkpoint.ModelFile))
	must.Do(t, err)
	defer f.Close()
	if _, shape, err := f.Shape("backbone.conv1.weight"); err != nil || len(shape) != 4 || shape[1] != 3 {
		t.Errorf("conv1.weight is %v, %v; want torch's [8 3 3 3]", shape, err)
	}
	for _, name := range f.Names() {
		if strings.HasPrefix(name, checkpoint.OptimizerPrefix) {
			t.Errorf("%s stands among the weights", name)
		}
	}
	s, err := checkpoint.ReadState(list[0])
	if err != nil || s.Origin["tool"] != "test" || s.Step != 3 || s.Config.Seed != c.Seed || len(s.Data) != 64 {
		t.Errorf("state %+v, %v", s, err)
	}
}

func TestDamagedCheckpointsAreFound(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	list, _ := checkpoint.List(dir)
	for _, name := range []string{checkpoint.ModelFile, checkpoint.OptimizerFile, checkpoint.StateFile} {
		path := filepath.Join(list[0], name)
		whole, err := os.ReadFile(path)
		must.Do(t, err)
		broken := bytes.Clone(whole)
		broken[len(broken)/2] ^= 4
		for what, data := range map[string][]byte{"a flipped bit": broken, "half a file": whole[:len(whole)/2],
			"nothing": nil} {
			must.Do(t, os.WriteFile(path, data, 0o644))
			if data == nil {
				must.Do(t, os.Remove(path))
			}
			_, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
			var damaged *checkpoint.DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %s: error %v", what, name, err)
			}
		}
		must.Do(t, os.WriteFile(path, whole, 0o644))
	}
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir}) // whole again
}

func TestNewerCheckpointIsRefused(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	list, _ := checkpoint.List(dir)
	path := filepath.Join(list[0], checkpoint.StateFile)
	data, err := os.ReadFile(path)
	must.Do(t, err)
	newer := bytes.Replace(data, fmt.Appendf(nil, `"hgld_checkpoint": %d`, checkpoint.Version),
		fmt.Appendf(nil, `"hgld_checkpoint": %d`, checkpoint.Version+1), 1)
	for name, text := range map[string][]byte{checkpoint.StateFile: newer,
		checkpoint.SumsFile: fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(newer), checkpoint.StateFile)} {
		must.Do(t, os.WriteFile(filepath.Join(list[0], name), text, 0o644))
	}
	if _, err := evaluation.Open(dir, cpu.New(1), nil, false); err == nil ||
		!strings.Contains(err.Error(),
			fmt.Sprintf("version %d; this hgld reads up to %d", checkpoint.Version+1, checkpoint.Version)) {
		t.Errorf("error %v", err)
	}
}

// A write that fails, as on a full disk, leaves the checkpoints there were.
func TestFailedWriteLeavesTheOldCheckpoint(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 2})
	before := weights(t, dir)
	list, _ := checkpoint.List(dir)
	s, err := checkpoint.ReadState(list[0])
	must.Do(t, err)
	s.Step = 3
	bad := []tensorfile.Tensor{{Name: "x", DType: "F32", Shape: []int{4}, Data: make([]byte, 3)}}
	if _, err := checkpoint.Write(dir, s, bad, nil); err == nil {
		t.Fatal("a tensor whose data does not fit its shape was written")
	}
	after := weights(t, dir)
	for name := range before {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s changed", name)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, checkpoint.Folder)); len(entries) != 1 {
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
	list, _ := checkpoint.List(dir)
	path := filepath.Join(list[0], checkpoint.StateFile)
	data, err := os.ReadFile(path)
	must.Do(t, err)
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
		for name, text := range map[string][]byte{checkpoint.StateFile: text,
			checkpoint.SumsFile: fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(text), checkpoint.StateFile)} {
			must.Do(t, os.WriteFile(filepath.Join(list[0], name), text, 0o644))
		}
		if _, err := evaluation.Open(dir, cpu.New(1), nil, false); err == nil || !strings.Contains(err.Error(), forged[1]) {
			t.Errorf("%s: error %v", forged[0], err)
		}
	}
}
