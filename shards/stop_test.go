package shards

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"hgld/internal/testing/fakes3"
	"hgld/labels"
)

// A store that does not answer does not hold up a reader who is stopped. The stop is no damage.
func TestAStopEndsReadsOfAStoreThatDoesNotAnswer(t *testing.T) {
	server := fakes3.Start(t)
	t.Setenv("HGLD_S3_CACHE_SIZE", "0")
	mustBuild(t, newSource(t, 30), place, small())
	view := func() *View { return mustSplit(t, mustOpen(t, place), labels.Train) }
	open := func(ctx context.Context) error { _, err := Open(ctx, place); return err }
	for name, c := range map[string]struct {
		file string // which does not come
		read func(ctx context.Context) error
	}{
		"Open":              {ManifestFile, open},
		"Open, of an index": {".idx", open},
		"ReadManifest": {ManifestFile, func(ctx context.Context) error {
			_, err := ReadManifest(ctx, place)
			return err
		}},
		"CheckSizes": {ManifestFile, func(ctx context.Context) error { return CheckSizes(ctx, place) }},
		"ReadDuplicates": {StatsFile, func(ctx context.Context) error {
			_, err := ReadDuplicates(ctx, place)
			return err
		}},
		"Image": {".parquet", func(ctx context.Context) error { _, err := view().Image(ctx, 0); return err }},
		"Path":  {".parquet", func(ctx context.Context) error { _, err := view().Path(ctx, 0); return err }},
		"Images": {".parquet", func(ctx context.Context) error {
			for _, err := range view().Images(ctx) {
				return err
			}
			return nil
		}},
		"Rows": {".parquet", func(ctx context.Context) error {
			for _, err := range view().Rows(ctx, true) {
				return err
			}
			return nil
		}},
		"Verify": {".parquet", func(ctx context.Context) error {
			_, err := Verify(ctx, place, VerifyOptions{})
			return err
		}},
	} {
		stalled := make(chan struct{}, 100)
		server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, c.file) {
				return fakes3.Fault{Stall: stalled}
			}
			return fakes3.Fault{}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.read(ctx) }()
		<-stalled
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) || errors.As(err, new(*DamageError)) {
			t.Errorf("%s: error %v", name, err)
		}
		server.SetFault(nil)
	}
}

// A store that fails for the moment is no damage either, where the Parquet library reads.
func TestAStoreThatFailsIsNoDamage(t *testing.T) {
	server := fakes3.Start(t)
	t.Setenv("HGLD_S3_CACHE_SIZE", "0")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	mustBuild(t, newSource(t, 30), place, small())
	view := mustSplit(t, mustOpen(t, place), labels.Train)
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".parquet") {
			return fakes3.Fault{Status: 503, Code: "SlowDown"}
		}
		return fakes3.Fault{}
	})
	if _, err := view.Path(t.Context(), 0); err == nil || errors.As(err, new(*DamageError)) {
		t.Errorf("error %v", err)
	}
}
