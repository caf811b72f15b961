package main

import (
	"strings"
	"testing"
)

func TestVariableOfAMisspeltStageIsRefused(t *testing.T) {
	t.Setenv("HGLD_CLUSTR_K", "5")
	t.Chdir(t.TempDir())
	if _, err := stages().Open(""); err == nil || !strings.Contains(err.Error(), `did you mean "HGLD_CLUSTER_K"`) {
		t.Errorf("error %v", err)
	}
}

func TestVariableOfNoStageIsIgnored(t *testing.T) {
	for _, name := range []string{"HGLD_SHARED", "HGLD_BLAS", "HGLD_TURBOJPEG", "HGLD_LIBHEIF", "HGLD_BENCH_ROWS",
		"HGLD_TEST_KILLED_RUN", "HGLD_CRAWL_DIR", "HGLD_DISK_CHILD"} {
		t.Setenv(name, "1")
	}
	t.Chdir(t.TempDir())
	if _, err := stages().Open(""); err != nil {
		t.Error(err)
	}
}
