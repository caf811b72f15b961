package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/iotrace"
	"hgld/internal/testing/must"
)

// TestFinishOpensNoInputAndNoShard builds a data set by a job array whose second task dies, asks for what is
// missing, and finishes it. All opened files are recorded.
func TestFinishOpensNoInputAndNoShard(t *testing.T) {
	publishedFolders(t)
	here := must.Get(os.Getwd())(t)
	settings := []string{"--dataset", "cub", "--input", "CUB_200_2011", "--images-per-shard", "2"}
	line := func(out string, more ...string) []string {
		return append(append([]string{"shards", "build", "--out", out}, settings...), more...)
	}
	mustRun(t, here, line("whole")...)

	task := func(id, least, most, count string) {
		for name, value := range map[string]string{"ID": id, "MIN": least, "MAX": most, "COUNT": count} {
			t.Setenv("SLURM_ARRAY_TASK_"+name, value)
		}
		mustRun(t, here, line("many", "--slice", "auto/3")...)
	}
	task("1", "1", "3", "3")
	task("3", "1", "3", "3")
	cmd, out := hgldIn(t, here, line("many", "--slice", "finish")...)
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitUsage ||
		!strings.Contains(out.String(), "of 3 slices, these are missing: 2") {
		t.Errorf("finish without slice 2: %v\n%s", err, out)
	}
	missing := strings.TrimSpace(mustRun(t, here, line("many", "-q", "--slice", "missing/3")...))
	if !strings.HasSuffix(missing, "2") {
		t.Fatalf("missing: %q", missing)
	}
	task("2", "2", "2", "1") // sbatch --array=2

	cmd, out = hgldIn(t, here, line("many", "--slice", "finish")...)
	calls, err := iotrace.Count(t.Context(), cmd, here)
	if err != nil || !cmd.ProcessState.Success() {
		t.Fatalf("%v\n%s", err, out)
	}
	opened := 0
	for _, c := range calls {
		rel, err := filepath.Rel(here, c.Path)
		if err != nil || c.Kind != iotrace.Open {
			continue
		}
		opened++
		shard := strings.HasPrefix(rel, "many/data/") && strings.HasSuffix(rel, ".parquet")
		if shard || strings.HasPrefix(rel, "CUB_200_2011") {
			t.Errorf("finish opens %s", rel)
		}
	}
	if opened == 0 {
		t.Error("no call was recorded")
	}
	if got, want := treeOf(t, "many"), treeOf(t, "whole"); !maps.Equal(got, want) {
		t.Errorf("the bytes differ from those of one build: %s", differing(want, got))
	}
	mustRun(t, here, "shards", "check", "many")
}

// treeOf returns the files below a folder with their contents.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(text)
		return err
	}))
	return all
}
