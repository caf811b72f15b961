package runs

import "hgld/internal/settings"

const (
	machineThreads = "threads at the top of hgld.yaml holds for all stages"
	machineDevice  = "device at the top of hgld.yaml holds for all stages"
)

// FormerKeys lists the keys that hgld.yaml, run.yaml and the stamps of stages have had, and what became of them.
var FormerKeys = settings.FormerKeys{
	{Section: "scrape", Key: "changes", Default: "*", Why: "the list is always changes.jsonl beside out"},
	{Section: "scrape", Key: "in_flight", Default: "*", Why: "it follows from rate and source"},
	{Section: "scrape", Key: "max_requests", Default: "*", Why: "a limit makes a trial"},

	{Section: "embed", Key: "threads", Default: "*", Why: machineThreads},
	{Section: "embed", Key: "clip.heads", Default: "0", Why: "it follows from the width of the network"},

	{Section: "cluster", Key: "encoder", Default: "*", Why: "embed.encoder chooses it"},
	{Section: "cluster", Key: "prompt", Default: "*", Why: "embed.prompt sets it"},
	{Section: "cluster", Key: "items", Default: "*", Why: "scrape.items names the file"},
	{Section: "cluster", Key: "tol", Default: "0", Why: "k-means ends when no tag changes its cluster"},
	{Section: "cluster", Key: "given", Now: "keep_groups"},
	{Section: "cluster", Key: "margin", Now: "min_margin"},

	{Section: "curate", Key: "also", Default: "also.csv", Why: "extra_parents.csv is always beside the hierarchy"},

	{Section: "labels", Key: "also", Now: "extra_parents"},
	{Section: "labels", Key: "also_out", Default: "landmarks_also.csv",
		Why: "landmarks_extra_parents.csv is always beside out"},
	{Section: "labels", Key: "items", Default: "items.jsonl", Why: "scrape.items names the file"},
	{Section: "labels", Key: "tree", Value: "meaning", Now: "semantic"},
	{Section: "labels", Key: "tree", Value: "place", Now: "geographic"},
	{Section: "labels", Key: "form", Now: "to"},
	{Section: "labels", Key: "blank", Now: "include_unlabelled"},

	{Section: "shards", Key: "no_class", Now: "na_values"},
	{Section: "shards", Key: "uneven", Now: "partial_labels"},
	{Section: "shards", Key: "labelled", Default: "false", Why: "partial_labels: drop does the same"},
	{Section: "shards", Key: "attribution", Default: "false", Why: "images of gldv2 always have their attribution"},
	{Section: "shards", Key: "workers", Default: "*", Why: machineThreads},

	{Section: "train", Key: "missing", Now: "na_values"},
	{Section: "train", Key: "uneven", Now: "partial_labels"},
	{Section: "train", Key: "partial_labels", Value: "true", Now: "keep"},
	{Section: "train", Key: "partial_labels", Value: "false", Now: "refuse"},
	{Section: "train", Key: "also", Now: "extra_parents"},
	{Section: "train", Key: "run.watch", Now: "run.eval_on"},
	{Section: "train", Key: "run.report_best", Now: "run.keep_best_test"},
	{Section: "train", Key: "ema.rise", Now: "ema.warmup"},
	{Section: "train", Key: "run.threads", Default: "*", Why: machineThreads},
	{Section: "train", Key: "run.device", Default: "*", Why: machineDevice},
	{Section: "train", Key: "input.erase.ratio", Default: "[0.3, 3.3]", Why: "erased areas have the published ratios"},
	{Section: "train", Key: "input.erase.scale", Default: "[0.02, 0.33]", Why: "erased areas have the published sizes"},
	{Section: "train", Key: "optim.clip_value", Default: "0", Why: "optim.clip bounds the norm of the gradient"},

	{Section: "eval", Key: "missing", Now: "na_values"},
	{Section: "eval", Key: "uneven", Now: "partial_labels"},
	{Section: "eval", Key: "also", Now: "extra_parents"},
	{Section: "eval", Key: "unit", Now: "normalize"},
	{Section: "eval", Key: "tree", Default: "false", Why: "extra_parents: none does the same"},
	{Section: "eval", Key: "threads", Default: "*", Why: machineThreads},
	{Section: "eval", Key: "report_places", Default: "10", Why: "top_k is for reports, exports and rankings"},
	{Section: "eval", Key: "trec_places", Default: "1000", Why: "top_k is for reports, exports and rankings"},
	{Section: "eval", Key: "trec_least", Now: "trec_min_level"},
}
