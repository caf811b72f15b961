package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hgld/internal/longdata"
	"hgld/internal/pipeline"
)

func TestTerminalCommandsInDataAreShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"Église 大聖堂 🏛\tof\nall":            "Église 大聖堂 🏛\tof\nall",
		"\x1b]0;title\x07\x1b[2Jgone":      `\x1b]0;title\x07\x1b[2Jgone`,
		"return\rover":                     `return\x0dover`,
		"\u009b31mred \x7f":                `\u009b31mred \x7f`,
		"\u202etxt.exe\u202c \u2066x":      `\u202etxt.exe\u202c \u2066x`,
		"not \xff UTF-8, but \ufffd is":    `not \xff UTF-8, but ` + "\ufffd is",
		"right to left \u200f stays as it": "right to left \u200f stays as it",
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := visibleName("a\nb\tc"), `a\nb\tc`; got != want {
		t.Errorf("a name of two lines is %q, want %q", got, want)
	}
}

// Packages quote a line of data; this is of what libraries quote, such as YAML.
func TestMessagesAboutSettingsAreShort(t *testing.T) {
	sample := "hgld: 1\ncluster:\n  k: 5\n  tol: 0.5\n  init: ward\n  center: true\nembed: {encoder: hashing}\n"
	longdata.Replace(t, []byte(sample), func(data []byte) error {
		p, err := stages().Parse("hgld.yaml", string(data))
		for _, s := range []pipeline.Stage{clusterStage().Stage, embedStage().Stage} {
			if err == nil {
				err = p.Load(nil, s.Name, s.Settings())
			}
		}
		if err == nil {
			return nil
		}
		var b strings.Builder
		reportError(err, &b)
		return errors.New(b.String())
	})
	long := "x: " + strings.Repeat("y", 1<<20) + "; want z\nnext"
	got := bounded(long)
	if len(got) > longestLine || !strings.HasPrefix(got, "x: yyy") || !strings.HasSuffix(got, "yyy; want z\nnext") {
		t.Errorf("a long line has become %.100q of %d bytes", got, len(got))
	}
}

// Whatever way a text takes to the terminal, it does nothing there.
func TestNothingPrintedIsACommand(t *testing.T) {
	const evil = "a\x1b[2J\u009b1m\x7f\u202eb\rc"
	var out bytes.Buffer
	j := &job{stdout: &out, stderr: &out}
	j.print("%s\n", evil)
	j.say("%s", evil)
	reportError(withHint(errors.New(evil), "%s", evil), &out)
	if err := writeJSON(j, map[string]string{evil: evil}); err != nil {
		t.Fatal(err)
	}
	p := j.progress(evil, 2)
	p.set(1, evil)
	j.print("%s\n", p.line())
	if i := strings.IndexFunc(out.String(), actedOn); i >= 0 {
		t.Errorf("printed: %q", out.String()[i:])
	}
	if n := strings.Count(out.String(), "2J"); n != 8 {
		t.Errorf("the text is shown %d times, want 8:\n%s", n, out.String())
	}
	data, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(visibleJSON(data), &back); err != nil || back != evil {
		t.Errorf("as JSON it is %q, %v", back, err)
	}
}
