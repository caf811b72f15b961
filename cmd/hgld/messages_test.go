package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hgld/internal/pipeline"
	"hgld/internal/terminal"
	"hgld/internal/testing/longdata"
	"hgld/internal/testing/must"
)

// Packages quote a line of data; this is of what libraries quote, such as YAML.
func TestMessagesAboutSettingsAreShort(t *testing.T) {
	sample := "hgld: 1\ncluster:\n  k: 5\n  max_iter: 5\n  init: ward\n  center: true\nembed: {encoder: hashing}\n"
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
}

// Whatever way a text takes to the terminal, it does nothing there.
func TestOutputEscapesTerminalControls(t *testing.T) {
	const evil = "a\x1b[2J\u009b1m\x7f\u202eb\rc"
	var out bytes.Buffer
	j := &job{stdout: &out, stderr: &out}
	j.print("%s\n", evil)
	j.log("%s", evil)
	reportError(withHint(errors.New(evil), "%s", evil), &out)
	must.Do(t, writeJSON(j, map[string]string{evil: evil}))
	p := j.progress(evil, 2)
	p.Set(1, evil)
	j.print("%s\n", p.Line())
	if out.String() != terminal.Visible(out.String()) {
		t.Errorf("printed: %q", out.String())
	}
	if n := strings.Count(out.String(), "2J"); n != 8 {
		t.Errorf("the text is shown %d times, want 8:\n%s", n, out.String())
	}
	data := must.Get(json.Marshal(evil))(t)
	var back string
	if err := json.Unmarshal(terminal.VisibleJSON(data), &back); err != nil || back != evil {
		t.Errorf("as JSON it is %q, %v", back, err)
	}
}
