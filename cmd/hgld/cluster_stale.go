package main

import (
	"fmt"

	"hgld/internal/pipeline"
	"hgld/train/device"
	"hgld/train/device/cpu"

	"hgld/cluster"
)

// otherVectors says why the vectors of a draft are not the ones that the stage embed
// describes. It returns "" if they are, or if nobody has named embed's encoder. before holds the
// states of the preceding stages.
func (s *clusterSettings) otherVectors(p *pipeline.Project, before []pipeline.State) (string, error) {
	e, err := embedStage().Load(p, nil)
	if err != nil {
		return "", err
	}
	if e.Out != s.Vectors {
		return "", nil
	}
	for _, st := range before {
		if st.Stage == "embed" && st.State == pipeline.Stale {
			return "embed comes first and is not done", nil
		}
	}
	if defaultEncoder(p) {
		return "", nil
	}
	_, have, err := cluster.ReadVectors(s.Vectors)
	if err != nil {
		return "", err
	}
	onCPU := func() (device.Backend, error) { return cpu.New(0), nil }
	encoder, err := openEncoder(e, onCPU) // for its name
	if err != nil {
		return fmt.Sprintf("embed.encoder is %s, which cannot be opened: %v", e.Encoder, err), nil
	}
	if encoder.Name() != have.Encoder {
		return fmt.Sprintf("embed.encoder or embed.weights changed: %s was made by %s", p.Inside(s.Vectors),
			have.Encoder), nil
	}
	return "", nil
}
