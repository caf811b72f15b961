package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/exitcode"
)

type noted struct {
	Out string `yaml:"out" path:"out"`
}

// twoStages are a stage that ends with err and one behind it; ran notes who worked.
func twoStages(err error, ran *[]string) []stage {
	work := func(name string, end error) stage {
		return newStage(name, name+" run", noted{Out: name + ".txt"},
			func(s *noted) (in, out []string) { return nil, []string{s.Out} },
			func(_ *job, s *noted) error {
				*ran = append(*ran, name)
				return errors.Join(os.WriteFile(s.Out, nil, 0o644), end)
			})
	}
	return []stage{work("first", err), work("second", nil)}
}

func TestRunStopsWhereSomethingFailedAndGoesOnWhenAsked(t *testing.T) {
	failed := withCode(exitSomeFailed, errors.New("2 images left out"))
	for _, c := range []struct {
		err   error
		hint  string
		again []string // who works when the same command runs again
	}{
		{failed, "`hgld run` goes on without them", []string{"second"}},
		{exitcode.Retryable(failed),
			"`hgld run` tries them again first; `hgld second run` goes on without them", []string{"first"}},
	} {
		j := projectHere(t, "{}\n")
		j.stdout, j.stderr = io.Discard, io.Discard
		var ran []string
		err := runStages(j, twoStages(c.err, &ran))
		if exitCode(err) != exitSomeFailed || !slices.Equal(ran, []string{"first"}) {
			t.Errorf("%v worked, %v; want the first alone, and code 3", ran, err)
		}
		if !slices.Contains(hints(err), c.hint) || !strings.Contains(err.Error(), "2 images left out") {
			t.Errorf("%v, hints %q; want %q", err, hints(err), c.hint)
		}
		ran = nil
		err = runStages(j, twoStages(c.err, &ran))
		if !slices.Equal(ran, c.again) {
			t.Errorf("again: %v worked, %v; want %v", ran, err, c.again)
		}
	}
}
