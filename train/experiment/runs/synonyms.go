package runs

import "hgld/internal/settings"

// Synonyms maps settings of other trainers to keys of [Settings], by the last part of the key.
// They are too different for a suggestion by edit distance.
var Synonyms = settings.Synonyms{
	"learning_rate": "optim.lr", "base_lr": "optim.lr", "rate": "optim.lr", "wd": "optim.weight_decay",
	"optimizer": "optim.name",
	"momentum":  "optim.settings", "grad_clip": "optim.clip", "clip_grad": "optim.clip", "clip_norm": "optim.clip",
	"batch_size": "sampler.batch", "batchsize": "sampler.batch", "bs": "sampler.batch",
	"samples_per_class": "sampler.m", "images_per_class": "sampler.m",
	"num_workers": "run.workers", "n_workers": "run.workers",
	"image_size": "input.size", "img_size": "input.size", "imgsz": "input.size", "resolution": "input.size",
	"crop_size":     "input.size",
	"embedding_dim": "model.dim", "embedding_size": "model.dim", "embed_dim": "model.dim", "feature_dim": "model.dim",
	"output_dim": "model.dim",
	"pretrained": "model.weights", "checkpoint_path": "from", "init_from": "from", "resume_from": "from",
	"load_from": "from",
	"arch":      "model.backbone.name", "architecture": "model.backbone.name", "model": "model.backbone.name",
	"net": "model.backbone.name", "network": "model.backbone.name",
	"criterion": "loss.name", "loss_fn": "loss.name", "scheduler": "schedule.name", "lr_scheduler": "schedule.name",
	"freeze_epochs": "schedule.freeze",
	"warmup_steps":  "schedule.warmup", "warmup_epochs": "schedule.warmup",
	"metric": "run.metrics", "eval_every": "run.evaluate", "eval_interval": "run.evaluate",
	"save_every": "run.checkpoint", "save_interval": "run.checkpoint",
	"max_steps": "steps", "num_steps": "steps", "iterations": "steps", "max_iter": "steps", "num_epochs": "epochs",
	"max_epochs": "epochs", "n_epochs": "epochs", "random_seed": "seed",
	"output": "out", "output_dir": "out", "save_dir": "out", "dataset": "data", "data_dir": "data",
	"split": "splits", "train_split": "splits", "val_split": "hold_out",
	"tau": "loss.settings", "temperature": "loss.settings", "margin": "loss.settings", "alpha": "loss.settings",
}
