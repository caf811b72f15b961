package main

// sections lists the stages in the order of the pipeline. Each is a section of
// hgld.yaml.
func sections() []stage {
	return []stage{
		scrapeStage(), embedStage(), clusterStage(), curateStage(),
		labelsStage(), shardsStage(), trainStage(), evalStage(),
	}
}
