//go:build unix

package pipeline

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/must"
)

// A link to itself does not tell whether the file exists. It is an error, like a failing disk,
// even for root.
func TestLinkLoopIsAnErrorAndNotMissing(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""))
	must.Do(t, os.Symlink("lost", "lost"))
	_, ofInput := j.options.Project.changeOf("lost")
	_, ofOutput := sumsOf(map[string]string{"lost": "size 1, changed now"})
	_, ofPrint := j.options.Project.engine().Fingerprint([]string{"lost"})
	for name, err := range map[string]error{"input": ofInput, "output": ofOutput, "fingerprint": ofPrint} {
		if !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), "lost") {
			t.Errorf("%s: %v, expected the failure to look at the file", name, err)
		}
	}
}

// A stage whose output cannot be looked at hides no other stage, and is not run again.
func TestAStageThatCannotBeLookedAtIsUnknown(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""), spec("b", ""))
	p := j.options.Project
	must.Do(t, Run(j, p.pipeline.Stages))
	must.Do(t, errors.Join(os.Remove("a.txt"), os.Symlink("a.txt", "a.txt")))
	list, err := p.States(0)
	if err != nil || list[0].State != Unknown || !errors.Is(list[0].Err, syscall.ELOOP) || list[1].State != Done {
		t.Errorf("%+v, %v; want a unknown and b done", list, err)
	}
	if _, err := p.Plan(0, 2); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("the plan of a run: %v", err)
	}
	if err := Run(j, p.pipeline.Stages); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("the run: %v", err)
	}
}
