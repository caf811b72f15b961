package tune_test

import (
	"fmt"
	"log"
	"os"

	"hgld/train/tune"
)

// A search over one setting. A map takes the place of training, and a temperature of 0.05 is best.
func ExampleSearch() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tau, err := tune.Parse("loss.settings.tau=0.01,0.05,0.1")
	if err != nil {
		log.Fatal(err)
	}
	s, err := tune.Open(dir, tune.Plan{Over: []tune.Space{tau}, Trials: 3, Steps: 90, Eta: 3, Metric: "H-AP"})
	if err != nil {
		log.Fatal(err)
	}
	percent := map[string]float64{"0.01": 50, "0.05": 60, "0.1": 55}
	for trial, round := s.Next(); trial != nil; trial, round = s.Next() {
		fmt.Println("train", s.Assignments(trial), "to step", s.Rounds[round])
		if err := s.Measured(trial, percent[trial.Values[0]]); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("best:", s.Assignments(s.Ranked()[0]))
	// Output:
	// train [loss.settings.tau=0.01] to step 30
	// train [loss.settings.tau=0.05] to step 30
	// train [loss.settings.tau=0.1] to step 30
	// train [loss.settings.tau=0.05] to step 90
	// best: [loss.settings.tau=0.05]
}
