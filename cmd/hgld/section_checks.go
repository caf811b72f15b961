package main

import (
	"fmt"
	"maps"
	"slices"

	"hgld/cluster"
	"hgld/internal/registry"
	"hgld/scrape"
	"hgld/scrape/site"
	"hgld/shards"
	"hgld/train/device"
	"hgld/train/metric"
)

// The checks of the sections find mistakes in settings before any data are read. Each
// command would find the same mistakes itself, but later.

func (s *scrapeSettings) check() error {
	if _, err := site.Kinds.Get("source", s.Source); err != nil {
		return err
	}
	_, err := scrape.Policies.Get("policy", s.Policy)
	return err
}

func (s *embedSettings) check() error {
	if s.Encoder != "" {
		if _, err := encoders.Get("encoder", s.Encoder); err != nil {
			return err
		}
	}
	_, err := s.prompt()
	return err
}

func (s *clusterSettings) check() error {
	if !slices.Contains(cluster.Weights, s.Weigh) {
		return registry.Unknown("weight", s.Weigh, cluster.Weights)
	}
	if s.Prompt != "" {
		if _, err := promptOf(s.Prompt); err != nil {
			return err
		}
	}
	if s.Encoder != "" {
		if _, err := encoders.Get("encoder", s.Encoder); err != nil {
			return err
		}
	}
	return s.options().Check()
}

func (s *curateSettings) check() error {
	_, err := conflictPolicy(s.OnConflict)
	return err
}

func (s *labelsSettings) check() error {
	form, err := labelForm(s.Form)
	if err != nil {
		return err
	}
	return checkFormInName(s.Out, form)
}

func (s *shardsSettings) check() error {
	if _, err := s.importer(); err != nil {
		return err
	}
	if s.Shards > 0 || s.ImagesPerShard > 0 {
		return nil
	}
	_, err := shards.ParseSize(s.ShardSize)
	return err
}

func checkTrain(s *trainSettings) error {
	if s.Run.Device != "" {
		if _, err := device.ParsePlace(s.Run.Device); err != nil {
			return fmt.Errorf("run.device: %w", err)
		}
	}
	return s.Config.Check()
}

func (s *evalSettings) check() error {
	if _, known := tieRules[s.Ties]; !known {
		return registry.Unknown("order of ties", s.Ties, slices.Sorted(maps.Keys(tieRules)))
	}
	if _, err := metric.ParseSet(s.Metrics); err != nil {
		return err
	}
	_, _, err := s.sureness()
	return err
}
