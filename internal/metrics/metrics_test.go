package metrics

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

func TestValuesAreWrittenInTheFormatOfPrometheus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hgld.prom")
	end := Write(path)
	Set("hgld_loss", 0.5)
	Set("hgld_loss", 0.25)
	Add("hgld_images_total", 32)
	Add("hgld_images_total", 3.2e6)
	must.Do(t, end())
	want := "# TYPE hgld_images_total counter\nhgld_images_total 3.200032e+06\n# TYPE hgld_loss gauge\nhgld_loss 0.25\n"
	if got := string(must.Get(os.ReadFile(path))(t)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := Write(filepath.Join(path, "below"))(); err == nil {
		t.Error("a file below a file was written")
	}
}
