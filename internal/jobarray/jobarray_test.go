package jobarray

import (
	"strings"
	"testing"
)

// slurm returns the variables of a task of an array.
func slurm(id, least, most, count string) map[string]string {
	return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most,
		"SLURM_ARRAY_TASK_COUNT": count}
}

func sge(id, first, last, step string) map[string]string {
	return map[string]string{"SGE_TASK_ID": id, "SGE_TASK_FIRST": first, "SGE_TASK_LAST": last, "SGE_TASK_STEPSIZE": step}
}

func TestSliceIsReadFromTextOrScheduler(t *testing.T) {
	for _, c := range []struct {
		text  string
		env   map[string]string
		n, of int
		wrong string
	}{
		{"3/8", nil, 3, 8, ""},
		{"9/8", nil, 0, 0, "N/T"}, {"0/8", nil, 0, 0, "N/T"}, {"3", nil, 0, 0, "N/T"}, {"3/x", nil, 0, 0, "N/T"},
		{"", nil, 0, 0, "N/T"}, {"auto/0", slurm("1", "1", "1", "1"), 0, 0, "N/T"},
		{"auto", nil, 0, 0, "no scheduler"}, {"auto/8", nil, 0, 0, "no scheduler"},

		// The whole array, and the tasks that `--slice missing/8` lists.
		{"auto", slurm("3", "1", "8", "8"), 3, 8, ""},
		{"auto/8", slurm("3", "1", "8", "8"), 3, 8, ""},
		{"auto/8", slurm("4", "4", "4", "1"), 4, 8, ""},
		{"auto/8", slurm("5", "2", "5", "2"), 5, 8, ""},
		{"auto", slurm("4", "4", "4", "1"), 0, 0, "auto/8"},
		{"auto", slurm("5", "2", "5", "2"), 0, 0, "auto/8"},
		{"auto", slurm("5", "1", "5", "2"), 0, 0, "auto/8"},
		{"auto", slurm("3", "0", "7", "8"), 0, 0, "auto/8"},
		{"auto/8", slurm("0", "0", "7", "8"), 0, 0, "1 to 8"},
		{"auto/8", slurm("12", "10", "17", "8"), 0, 0, "1 to 8"},
		{"auto/8", slurm("x", "", "", ""), 0, 0, "whole number"},

		{"auto/5", map[string]string{"JOB_COMPLETION_INDEX": "0"}, 1, 5, ""},
		{"auto/5", map[string]string{"JOB_COMPLETION_INDEX": "5"}, 0, 0, "1 to 5"},
		{"auto", map[string]string{"JOB_COMPLETION_INDEX": "0"}, 0, 0, "auto/8"},
		{"auto", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "7", "AWS_BATCH_JOB_ARRAY_SIZE": "8"}, 8, 8, ""},
		{"auto/8", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1", "AWS_BATCH_JOB_ARRAY_SIZE": "2"}, 0, 0, "3/8"},
		{"auto/8", map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, 2, 8, ""},
		{"auto", map[string]string{"BATCH_TASK_INDEX": "0", "BATCH_TASK_COUNT": "4"}, 1, 4, ""},

		{"auto", sge("2", "1", "4", "1"), 2, 4, ""},
		{"auto/8", sge("7", "7", "7", "1"), 7, 8, ""},
		{"auto", sge("7", "7", "7", "1"), 0, 0, "auto/8"},
		{"auto", sge("3", "1", "7", "2"), 0, 0, "auto/8"},
		{"auto/8", sge("undefined", "undefined", "undefined", "undefined"), 0, 0, "no scheduler"},

		{"auto/8", map[string]string{"LSB_JOBINDEX": "5", "LSB_JOBINDEX_END": "5"}, 5, 8, ""},
		{"auto", map[string]string{"LSB_JOBINDEX": "5", "LSB_JOBINDEX_END": "5"}, 0, 0, "auto/8"}, // of [2,5] as well
		{"auto/8", map[string]string{"LSB_JOBINDEX": "0"}, 0, 0, "no scheduler"},
		{"auto/8", map[string]string{"PBS_ARRAY_INDEX": "6"}, 6, 8, ""},
		{"auto", map[string]string{"PBS_ARRAY_INDEX": "6"}, 0, 0, "auto/8"},
		{"auto/8", map[string]string{"PBS_ARRAYID": "8"}, 8, 8, ""},

		{"auto/4", map[string]string{"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, 4, 4, ""},
		{"auto", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}, 1, 4, ""},
		{"auto/8", map[string]string{"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, 0, 0, "3/8"},
		{"auto/4", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, 0, 0, "no scheduler"},
		{"auto/4", map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, 0, 0, "no scheduler"},
		{"auto/8", map[string]string{"SLURM_ARRAY_TASK_ID": "5", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}, 5, 8, ""},
	} {
		n, of, err := Slice(c.text, func(name string) string { return c.env[name] })
		if n != c.n || of != c.of || (err == nil) != (c.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q in %v: %d of %d, %v", c.text, c.env, n, of, err)
		}
	}
}
