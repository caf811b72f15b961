package runs

import (
	"cmp"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"hgld/internal/texttable"
	"hgld/train/retrieval"
)

// Line summarises a run in a list of runs.
type Line struct {
	Run      string           `json:"run"`                          // run directory
	State    string           `json:"state"`                        // see Run.State; "unread" if it cannot be read
	Backbone string           `json:"backbone"`                     // name of the network
	LossName string           `json:"loss_name"`                    // name of the loss
	Seed     uint64           `json:"seed"`                         // seed of the training
	Loss     retrieval.Number `json:"loss"`                         // see Run.Loss
	NoLoss   int              `json:"steps_without_loss,omitempty"` // no query of theirs had a positive
	Speed    retrieval.Number `json:"images_per_second"`            // see Run.Speed
	On       string           `json:"on"`                           // images of the last evaluation; "" if there was none
	Fine     retrieval.Number `json:"r@1_percent"`                  // R@1 of the finest level
	HAP      retrieval.Number `json:"h_ap_percent"`                 // H-AP
	Trained  float64          `json:"trained_seconds"`              // of all steps, without evaluations
	Changed  time.Time        `json:"changed,omitzero"`             // see Run.Changed
}

// Line returns the summary of a run with settings.
func (r *Run) Line() Line {
	l := Line{Run: r.Dir, State: r.State(), Backbone: r.Settings.Model.Backbone.Name, LossName: r.Settings.Loss.Name,
		Seed: r.Settings.Seed, Loss: r.Loss(), NoLoss: r.WithoutLoss(), Speed: r.Speed(),
		Fine: Percent(r.Result, "R@1_level0"), HAP: Percent(r.Result, "H-AP"),
		Trained: r.Trained().Seconds(), Changed: r.Changed}
	if r.Result != nil {
		l.On = r.Result.On
	}
	return l
}

// Unread returns the line of a run that cannot be read.
func Unread(dir string) Line {
	none := retrieval.Number(math.NaN())
	return Line{Run: dir, State: "unread", Backbone: "–", LossName: "–", Loss: none, Speed: none, Fine: none, HAP: none}
}

// Find returns the run directories in a folder, sorted by name.
func Find(folder string) ([]string, error) {
	settings, err := fs.Glob(os.DirFS(folder), "*/"+SettingsFile)
	var dirs []string
	for _, name := range settings {
		dirs = append(dirs, filepath.Join(folder, path.Dir(name)))
	}
	return dirs, err
}

// ListText formats a list of runs as a table.
func ListText(list []Line) string {
	rows := [][]string{{"run", "state", "backbone", "loss", "seed", "value", "img/s", "measured", "R@1", "H-AP", "trained",
		"changed"}}
	for _, l := range list {
		rows = append(rows, []string{l.Run, string(l.State), l.Backbone, l.LossName, strconv.FormatUint(l.Seed, 10),
			l.Loss.Decimals(4, "–"), l.Speed.Decimals(0, "–"), cmp.Or(l.On, "–"), l.Fine.Decimals(2, "–"),
			l.HAP.Decimals(2, "–"), (time.Duration(l.Trained) * time.Second).String(), minute(l.Changed)})
	}
	return texttable.Format("%s  %s  %-12s %-20s %5s %8s %7s  %-10s %7s %7s  %9s  %s", rows...)
}

// minute formats a time for a list.
func minute(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format("2006-01-02 15:04")
}
