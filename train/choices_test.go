package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/testing/conformance"
)

// otherwise copies the choices in a folder, but for the shapes for which hgld's own kernel was not chosen it is now,
// and a library for the others.
func otherwise(t *testing.T, plans string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(plans, "cuDNN-*", "*.plan"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no choices in %s, %v", plans, err)
	}
	to := t.TempDir()
	for _, path := range files {
		data, err := os.ReadFile(path)
		must.Do(t, err)
		_, text, _ := bytes.Cut(data, []byte{'\n'})
		var kept map[string]any
		must.Do(t, json.Unmarshal(text, &kept))
		now := "hgld"
		if strings.HasPrefix(kept["Plan"].(string), now) {
			now = "cudnn"
			if strings.HasPrefix(kept["Of"].(string), "MatMul") {
				now = "cublaslt"
			}
		}
		kept["Plan"] = now
		text, err = json.Marshal(kept)
		must.Do(t, err)
		changed := filepath.Join(to, filepath.Base(filepath.Dir(path)), filepath.Base(path))
		must.Do(t, os.MkdirAll(filepath.Dir(changed), 0o755))
		must.Do(t, os.WriteFile(changed, fmt.Appendf(nil, "%x\n%s", sha256.Sum256(text), text), 0o600))
	}
	return to
}

// A resumed run takes the choices of its checkpoint: it ends with the bytes of an undisturbed run also if the kept
// choices are gone or others, or if nothing is measured any more.
func TestResumedRunRepeatsItsChoices(t *testing.T) {
	if conformance.OnCard() {
		t.Skip("needs the imitations of NVIDIA's libraries")
	}
	c, d := tiny(4)
	c.Model.Precision = config.PrecisionBFloat16
	train := func(t *testing.T, dir, setting, plans string, limit int) {
		b := onImitations(t, setting, plans)
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: b, Limit: limit})
		must.Do(t, b.Close())
	}
	whole, measured := t.TempDir(), t.TempDir()
	train(t, whole, "measured", measured, 0)
	state, err := checkpoint.ReadState(filepath.Join(whole, checkpoint.Name(4)))
	must.Do(t, err)
	if len(state.Choices) != 1 || len(state.Choices[0].Ways) < 6 {
		t.Fatalf("the record has %v", state.Choices)
	}
	others := otherwise(t, measured)
	for name, now := range map[string]struct{ setting, plans string }{
		"kept": {"measured", measured}, "deleted": {"measured", t.TempDir()}, "otherwise": {"measured", others},
		"unasked": {"bfloat16", measured},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			train(t, dir, "measured", measured, 2)
			train(t, dir, now.setting, now.plans, 0)
			sameWeights(t, "resumed", whole, dir)
		})
	}
	fresh := t.TempDir()
	train(t, fresh, "measured", others, 0)
	if bytes.Equal(weights(t, fresh)[checkpoint.ModelFile], weights(t, whole)[checkpoint.ModelFile]) {
		t.Error("other choices give the same bytes, so that nothing was tested")
	}
}
