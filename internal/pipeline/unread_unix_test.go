//go:build unix

package pipeline

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A link to itself does not tell whether the file exists. It is an error, like a failing disk,
// even for root.
func TestLinkLoopIsAnErrorAndNotMissing(t *testing.T) {
	j := projectHere(t, "{}\n", spec("a", ""))
	if err := os.Symlink("lost", "lost"); err != nil {
		t.Fatal(err)
	}
	_, ofInput := j.options.Project.changeOf("lost")
	_, ofOutput := sumsOf(map[string]string{"lost": "size 1, changed now"})
	_, ofPrint := j.options.Project.engine().Fingerprint([]string{"lost"})
	for name, err := range map[string]error{"input": ofInput, "output": ofOutput, "fingerprint": ofPrint} {
		if !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), "lost") {
			t.Errorf("%s: %v, expected the failure to look at the file", name, err)
		}
	}
}
