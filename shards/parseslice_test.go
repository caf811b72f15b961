package shards

import (
	"strings"
	"testing"
)

func TestSliceIsReadFromTextOrScheduler(t *testing.T) {
	slurm := map[string]string{"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "8"}
	pods := map[string]string{"JOB_COMPLETION_INDEX": "0"}
	for _, c := range []struct {
		text  string
		env   map[string]string
		n, of int
		wrong string
	}{
		{"3/8", nil, 3, 8, ""}, {"auto", slurm, 3, 8, ""}, {"auto/4", slurm, 3, 4, ""}, {"auto/5", pods, 1, 5, ""},
		{"auto", pods, 0, 0, "auto/8"}, {"auto", nil, 0, 0, "neither"}, {"auto/2", slurm, 0, 0, "3 of 2"},
		{"9/8", nil, 0, 0, "N/T"}, {"0/8", nil, 0, 0, "N/T"}, {"3", nil, 0, 0, "N/T"}, {"3/x", nil, 0, 0, "N/T"},
		{"", nil, 0, 0, "N/T"},
	} {
		n, of, err := ParseSlice(c.text, func(name string) string { return c.env[name] })
		if n != c.n || of != c.of || (err == nil) != (c.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %d of %d, %v", c.text, n, of, err)
		}
	}
}
