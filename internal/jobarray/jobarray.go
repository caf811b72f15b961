// Package jobarray finds which part of a job a process has to do: from its arguments, or from the variables by
// which a scheduler numbers the tasks of an array.
package jobarray

import (
	"fmt"
	"strconv"
	"strings"
)

// scheduler lists the variables by which a scheduler describes a task of an array.
type scheduler struct {
	name  string
	index string // number of the task
	zero  bool   // the first task is always 0, and an array has no gaps; otherwise the user numbers the tasks
	none  string // value of index in a job that is no array; "" if it is then unset
	count string // number of tasks; "" if it is unknown
	alone string // value of count in a job that is no array, which may also lack it; "" if index tells
	// ends of the array and the step between its tasks; "" if they are unknown
	first, last, step string
}

var schedulers = []scheduler{
	{name: "SLURM", index: "SLURM_ARRAY_TASK_ID", first: "SLURM_ARRAY_TASK_MIN", last: "SLURM_ARRAY_TASK_MAX",
		count: "SLURM_ARRAY_TASK_COUNT"},
	{name: "Kubernetes", index: "JOB_COMPLETION_INDEX", zero: true},
	{name: "AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX", zero: true, count: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{name: "Google Batch", index: "BATCH_TASK_INDEX", zero: true, count: "BATCH_TASK_COUNT"},
	{name: "Grid Engine", index: "SGE_TASK_ID", none: "undefined", first: "SGE_TASK_FIRST", last: "SGE_TASK_LAST",
		step: "SGE_TASK_STEPSIZE"},
	{name: "LSF", index: "LSB_JOBINDEX", none: "0"},
	{name: "PBS", index: "PBS_ARRAY_INDEX"},
	{name: "Torque", index: "PBS_ARRAYID"},
	// The tasks of srun, if they are no array. One that srun started alone is no part of anything.
	{name: "srun", index: "SLURM_PROCID", zero: true, count: "SLURM_STEP_NUM_TASKS", alone: "1"},
}

// Slice reads "3/8" as slice 3 of 8.
//
// "auto/8" takes the number of the slice from the scheduler: task 3 of an array is slice 3, whatever other tasks the
// array has. An array of 3 and 5 alone therefore repeats these two slices. Where the scheduler itself numbers the
// tasks, from 0 on, task 0 is slice 1.
//
// "auto" also takes the number of slices from the scheduler. It is an error unless the array is known to have every
// task from the first to the last slice.
func Slice(text string, getenv func(string) string) (n, of int, err error) {
	first, rest, counted := strings.Cut(text, "/")
	if counted {
		if of, err = strconv.Atoi(rest); err != nil || of < 1 {
			return 0, 0, fmt.Errorf("slice %.80q; want N/T, such as 3/8, or auto/T", text)
		}
	}
	if first != "auto" {
		n, err = strconv.Atoi(first)
		if err != nil || !counted || n < 1 || n > of {
			return 0, 0, fmt.Errorf("slice %.80q; want N/T, such as 3/8, with N from 1 to T, or auto/T", text)
		}
		return n, of, nil
	}
	for _, s := range schedulers {
		if s.alone != "" && (getenv(s.count) == "" || getenv(s.count) == s.alone) {
			continue
		}
		if value := getenv(s.index); value != "" && value != s.none {
			return s.slice(value, of, getenv)
		}
	}
	return 0, 0, fmt.Errorf("slice %.80q, but no scheduler has set the number of a task here (%s); name the slice, such "+
		"as 3/8", text, strings.Join(variables(), ", "))
}

// variables lists the variables with the number of a task.
func variables() (list []string) {
	for _, s := range schedulers {
		list = append(list, s.index)
	}
	return list
}

// slice returns the slice of the task with the given number. of is the number of slices, or 0 if the array must tell.
func (s *scheduler) slice(task string, of int, getenv func(string) string) (int, int, error) {
	n, err := strconv.Atoi(task)
	if err != nil {
		return 0, 0, fmt.Errorf("%s is %.80q; want a whole number", s.index, task)
	}
	tasks, err := s.tasks(getenv)
	if of == 0 {
		if err != nil {
			return 0, 0, fmt.Errorf("%w; name the number of slices, such as auto/8", err)
		}
		of = tasks
	}
	if s.zero {
		n++
		if err == nil && tasks != of {
			return 0, 0, fmt.Errorf("%s is %d, but there are %d slices; %s numbers its tasks from 0 on, so run one task for "+
				"each slice, or name a single slice, such as 3/%d", s.count, tasks, of, s.name, of)
		}
	}
	if n < 1 || n > of {
		return 0, 0, fmt.Errorf("%s is %s, but the slices are 1 to %d; number the tasks of the array like the slices",
			s.index, task, of)
	}
	return n, of, nil
}

// tasks returns the number of tasks of an array that has no gaps and begins with the first slice.
func (s *scheduler) tasks(getenv func(string) string) (int, error) {
	number := func(name string) (int, bool) {
		v, err := strconv.Atoi(getenv(name))
		return v, name != "" && err == nil
	}
	count, counted := number(s.count)
	if s.zero {
		if !counted {
			return 0, fmt.Errorf("%s does not give the number of tasks of the job", s.name)
		}
		return count, nil
	}
	first, begins := number(s.first)
	last, ends := number(s.last)
	step, stepped := number(s.step)
	if !begins || !ends || !counted && !stepped {
		return 0, fmt.Errorf("%s does not list the tasks of the array", s.name)
	}
	if first != 1 || counted && count != last || stepped && step > 1 {
		return 0, fmt.Errorf("the array has tasks from %d to %d, but not all from 1 on", first, last)
	}
	return last, nil
}
