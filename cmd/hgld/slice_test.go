package main

import (
	"os"
	"strings"
	"testing"
)

func TestParseSlice(t *testing.T) {
	array := func(name string) string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "5",
			"SLURM_ARRAY_TASK_COUNT": "5"}[name]
	}
	all := []sliceKind{sliceFinish, sliceCount, sliceMissing}
	for _, c := range []struct {
		text  string
		takes []sliceKind
		want  slice
		err   string
	}{
		{"", nil, slice{}, ""},
		{"3/8", nil, slice{slicePart, 3, 8}, ""},
		{"auto", nil, slice{slicePart, 2, 5}, ""},
		{"auto/8", all, slice{slicePart, 2, 8}, ""},
		{"finish", all, slice{kind: sliceFinish}, ""},
		{"finish/4", all, slice{sliceCount, 0, 4}, ""},
		{"missing/8", all, slice{sliceMissing, 0, 8}, ""},
		{"finish", nil, slice{}, "want N/T, auto, auto/T"},
		{"missing/8", all[:1], slice{}, "want N/T, auto, auto/T, finish"},
		{"finish/4", all[:1], slice{}, `"finish/4" has no meaning here`},
		{"missing", all, slice{}, "want missing/T with the number of slices, such as missing/8"},
		{"missing/0", all, slice{}, "want missing/T"},
		{"finish/x", all, slice{}, "want finish/T"},
		{"9/8", all, slice{}, "with N from 1 to T"},
	} {
		got, err := parseSlice(c.text, array, c.takes...)
		if c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
		if c.err != "" && (err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: error %v, want %q", c.text, err, c.err)
		}
	}
}

// Processes of a launcher would write the same files. Those that have a slice each, or share the work, do not.
func TestALauncherIsRefusedByCommandsOfOneProcess(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1"} {
		t.Setenv(name, value)
	}
	const refused = "works in one process, and torchrun started 3"
	for line, want := range map[string]bool{
		"eval run": false, "eval run --embeddings e.npy": true, "eval run --export x": true, "eval run --trec x": true,
		"eval run --report x.html": true, "eval compare x": true, "study run x": true,
		"labels build": true, "shards build": true, "status": true,
		"shards build --slice 1/3": false, "embed-images --slice 1/3 x": false, "version": false,
		"train run --limit -1": false,
	} {
		code, _, errs := run(t, strings.Fields(line)...)
		if got := strings.Contains(errs, refused); got != want || want && code != exitUsage {
			t.Errorf("%s: exit code %d, %s", line, code, errs)
		}
	}
	t.Setenv("HGLD_RANKS", "off")
	if _, _, errs := run(t, "status"); strings.Contains(errs, refused) {
		t.Error(errs)
	}
}

// The numbers of a training lie in a file that other programs may read at any time.
func TestNumbersOfATrainingAreWritten(t *testing.T) {
	embeddingFiles(t)
	t.Setenv(metricsVariable, "hgld.prom")
	code, _, errs := run(t, strings.Fields("train run --embeddings e.npy --labels l.csv --hold-out 0 -o model.dim=4 "+
		"-o model.standard=none -o sampler.batch=12 -o sampler.m=4 --steps 3 --out r")...)
	text, err := os.ReadFile("hgld.prom")
	if code != exitOK || err != nil || !strings.Contains(string(text), "# TYPE hgld_step gauge\nhgld_step 3\n") ||
		!strings.Contains(string(text), "hgld_images_total ") {
		t.Errorf("exit code %d, %v, %q\n%s", code, err, text, errs)
	}
}
