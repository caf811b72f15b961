//go:build foreign

package img

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// TestForeignImages decodes the files of the folder that $HGLD_ODD_IMAGES names, as training does and without a
// library, into NAME.training and NAME.go beside the folder. scripts/check_images compares them with other programs'
// pixels.
func TestForeignImages(t *testing.T) {
	dir := os.Getenv("HGLD_ODD_IMAGES")
	files := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	if dir == "" || len(files) == 0 {
		t.Fatal("HGLD_ODD_IMAGES names no folder of images")
	}
	training := must.Get(DefaultDecoder())(t)
	for _, file := range files {
		data := must.Get(os.ReadFile(file))(t)
		for name, d := range map[string]*Decoder{"training": training, "go": {}} {
			var out struct {
				W, H  int
				Pix   []byte
				Error string
			}
			if m, err := d.Decode(data); err != nil {
				out.Error = err.Error()
			} else {
				out.W, out.H, out.Pix = m.W, m.H, m.Pix
			}
			text := must.Get(json.Marshal(out))(t)
			must.Do(t, os.WriteFile(filepath.Join(dir, "..", filepath.Base(file)+"."+name), text, 0o666))
		}
	}
}
