package train

import (
	"context"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/smalldisk"
	"hgld/train/checkpoint"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
)

// A run that saves after every second step, on disks of rising size: what it saved
// before the disk was full stands, and with more room it goes on from there to the
// weights of a run that had room enough.
func TestDiskFullInACheckpointLeavesTheOldOne(t *testing.T) {
	c, d := tiny(8)
	c.Run.Checkpoint, c.EMA.Decay = 2, 0.9
	data := Data{Train: d, Validation: d}
	whole := t.TempDir()
	mustTrain(t, c, data, Options{Dir: whole})
	smalldisk.Run(t, 16, 56,
		func(dir string) error {
			saved := 0
			events, err := trainAll(t, context.Background(), c, data, Options{Dir: dir})
			for _, e := range events {
				if e.Kind == Saved {
					saved = e.Step
				}
			}
			if err == nil {
				return nil
			}
			list, listed := checkpoint.List(dir)
			if listed != nil || saved > 0 && len(list) == 0 {
				t.Errorf("saved after step %d, and left are %v, %v", saved, list, listed)
			}
			for _, path := range list {
				m, err := evaluation.Open(path, cpu.New(1), nil, false)
				if err != nil {
					t.Fatalf("saved after step %d: %v", saved, err)
				}
				must.Do(t, m.Close())
			}
			if s, err := readStateOf(list); err != nil || s.Step != saved {
				t.Errorf("saved after step %d, and left is step %d, %v", saved, s.Step, err)
			}
			return err
		},
		func(dir string) { mustTrain(t, c, data, Options{Dir: dir}) },
		func(dir string) { sameWeights(t, "after a full disk", whole, dir) })
}

// readStateOf reads the newest of a list of checkpoints; of none it is empty.
func readStateOf(list []string) (checkpoint.State, error) {
	if len(list) == 0 {
		return checkpoint.State{}, nil
	}
	return checkpoint.ReadState(list[len(list)-1])
}
