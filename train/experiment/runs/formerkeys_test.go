package runs

import (
	"testing"

	"hgld/internal/settings"
)

// A run.yaml as hgld wrote it before keys were renamed is read, and each value is where its key is today.
func TestRunOfBeforeIsRead(t *testing.T) {
	s, err := ReadSettings("testdata/before")
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	fields := settings.Fields(s)
	for _, c := range []struct{ was, now, want string }{
		{"missing", "na_values", "NA"}, {"run.watch", "run.eval_on", "landmarks"},
		{"run.report_best", "run.keep_best_test", "true"}, {"ema.rise", "ema.warmup", "true"},
		{"ema.decay", "", "0.99"},
	} {
		i, _ := settings.Find(fields, c.was)
		if i < 0 {
			i, _ = settings.Find(fields, c.now)
		}
		if i < 0 || settings.Text(fields[i].Value) != c.want {
			t.Errorf("%s of the file is lost: want %s", c.was, c.want)
		}
	}
}
