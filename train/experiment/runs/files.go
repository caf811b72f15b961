package runs

import (
	"os"
	"path"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/train/checkpoint"
)

// Files lists the files that identify a run, relative to its directory and with slashes: the sums
// of its checkpoints, its settings, and which checkpoint is the best. It omits the logs, which
// grow with every evaluation. For a folder without checkpoints it returns none.
func Files(dir string) ([]string, error) {
	checkpoints, err := os.ReadDir(filepath.Join(dir, CheckpointsFolder)) // fs.Glob hides errors
	if atomicfile.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range checkpoints {
		names = append(names, path.Join(CheckpointsFolder, c.Name(), "SHA256SUMS"))
	}
	files, err := existing(dir, names)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	more, err := existing(dir, []string{SettingsFile, checkpoint.BestFile})
	return append(files, more...), err
}

// existing returns those of the names that exist below dir.
func existing(dir string, names []string) (list []string, err error) {
	for _, name := range names {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case err == nil:
			list = append(list, name)
		case !atomicfile.IsMissing(err):
			return nil, err
		}
	}
	return list, nil
}
