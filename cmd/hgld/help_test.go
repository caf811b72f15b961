package main

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"

	"github.com/urfave/cli/v2"
)

// The application leaves the library's variables alone: another one in the same process
// describes its flags in its own way.
func TestHelpLeavesTheGlobalFlagStringerAlone(t *testing.T) {
	was := reflect.ValueOf(cli.FlagStringer).Pointer()
	var out strings.Builder
	args := []string{"hgld", "cluster", "run", "--help"}
	must.Do(t, newApp(environment{stdout: &out, stderr: io.Discard}, args).Run(args))
	for _, want := range []string{"\n  -k VALUE                   number of clusters (default: 150)\n",
		"\n  --help, -h "} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not once in\n%s", want, &out)
		}
	}
	args = []string{"hgld", "loss", "--help"}
	if err := newApp(environment{stdout: &out, stderr: io.Discard}, args).Run(args); err != nil ||
		!strings.Contains(out.String(), "which is slow (default: true; --definition=false)\n") {
		t.Errorf("%v: what is on by default is not said in\n%s", err, &out)
	}
	if reflect.ValueOf(cli.FlagStringer).Pointer() != was {
		t.Error("cli.FlagStringer was set for the whole process")
	}
}
