package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	pages "hgld/cluster/report"
	"hgld/curate/format"
	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/selection"
)

func TestErrorsOfPackagesHaveTheirHintsAndCodes(t *testing.T) {
	here, there := &pipeline.Project{}, &pipeline.Project{Asked: "there"}
	kindOf := func(path string) error { return &embeddings.KindError{Path: path, Err: errors.New("x")} }
	for _, c := range []struct {
		err  error
		code int
		hint string
	}{
		{&pipeline.StoppedError{Project: here, Stage: "first", Next: "second run"}, exitSomeFailed,
			"`hgld run` goes on without them"},
		{&pipeline.StoppedError{Project: there, Stage: "first", Next: "second run", Retryable: true}, exitSomeFailed,
			"`hgld run -C there` tries them again first; `hgld second run -C there` goes on without them"},
		{&pipeline.MissingInputError{Project: here, Command: "eval run", Path: "x"}, exitFailed,
			"name another file: hgld eval run --help"},
		{kindOf("e.joblib"), exitFailed, `np.save("e.npy", x)`},
		{kindOf("e.h5"), exitFailed, "h5py"},
		{kindOf("e.mat"), exitFailed, `scipy.io.loadmat("e.mat")["NAME"]`},
		{kindOf("e.fvecs"), exitFailed, `reshape(-1, a[0] + 1)[:, 1:].view("<f4")`},
		{kindOf("e.faiss"), exitFailed, `reconstruct_n(0, i.ntotal)`},
		{&embeddings.SeveralError{Path: "e.npz", Names: []string{"a", "b"}}, exitFailed, "e-vectors.npy of a"},
		{kindOf("e.tsv"), exitFailed, `np.loadtxt("e.tsv"))`},
		{kindOf("e.csv"), exitFailed, `delimiter=","`},
		{&dataset.SettingError{Setting: "split_folders", Values: []string{"a=train", "none"}, Err: errors.New("x")},
			exitFailed, "for splits: -o split_folders=a=train; for classes: -o split_folders=none"},
		{&dataset.SettingError{Setting: "split_folders", Values: []string{"my a=train", "none"}, Err: errors.New("x")},
			exitFailed, "for splits: -o split_folders='my a=train'; for classes"},
		{&dataset.SettingError{Setting: "columns.path", Values: []string{"url"}, Err: errors.New("x")}, exitFailed,
			"name another one: -o columns.path=url"},
		{&pages.SweepError{Name: "x", Err: errors.New("y")}, exitFailed, "hgld cluster sweep --json"},
		{format.ErrNoLandmarks, exitFailed, "--tags"},
		{&dataset.NameError{Name: "\xe9"}, exitFailed, "convmv -f windows-1252"},
		{&shards.UnfinishedError{}, exitFailed, "hgld shards build"},
		{&shards.DamageError{}, exitIntegrity, "hgld shards check"},
		{&selection.Error{Err: &selection.NoSplitsError{Labels: "l.csv"}}, exitUsage, "--hold-out 0.2"},
		{&selection.Error{Err: &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}}, exitUsage, ""},
	} {
		err := fmt.Errorf("stage: %w", errors.Join(errors.New("other"), c.err))
		if code := exitCode(err); code != c.code {
			t.Errorf("%T: exit code %d, want %d", c.err, code, c.code)
		}
		if list := hints(err); c.hint == "" && len(list) > 0 ||
			c.hint != "" && !slices.ContainsFunc(list, func(h string) bool { return strings.Contains(h, c.hint) }) {
			t.Errorf("%T: hints %q, want %q", c.err, list, c.hint)
		}
	}
	own := withHint(&shards.DamageError{}, "the command knows more")
	if list := hints(own); !slices.Equal(list, []string{"the command knows more"}) || exitCode(own) != exitIntegrity {
		t.Errorf("hints %q, exit code %d: a command's own hint counts", list, exitCode(own))
	}
}
