/*
 * The C interface of hgld: its losses and its evaluation on arrays of the caller, images of shards, and samplers.
 *
 * Numbers. Matrices are row-major. The distance between rows, stride, is counted in elements and is at
 * least cols; the elements of a row are adjacent. Labels are int32, or int64 where a comment says so, one
 * class for each row and level, the finest level first, without gaps; -1 means no class. Classes of a loss
 * are numbered from 0 to the number of classes of the level minus 1.
 *
 * Memory. Every array belongs to the caller. The library reads it during a call, keeps no pointer
 * after it, and writes only what a comment says. A call that fails writes nothing but *error. Texts
 * that a function returns, and errors, are UTF-8 with a final 0, and are freed with hgld_free.
 *
 * Errors. A function that can fail returns 0 for success. Otherwise it returns 1 and sets *error to a
 * text, unless error is NULL.
 *
 * Threads. Calls may come from any thread. Calls with one handle wait for one another. After a fork,
 * the child must not use the library, but may load a copy of its file.
 */
#ifndef HGLD_H
#define HGLD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library is used only if hgld_abi() returns the same number. */
#define HGLD_ABI 4

enum { HGLD_FLOAT32 = 0, HGLD_FLOAT64 = 1 };
enum { HGLD_INT32 = 0, HGLD_INT64 = 1 };

/* A matrix in the caller's memory, absent if data is NULL. */
typedef struct {
	void *data;
	int64_t rows, cols;
	int64_t stride; /* elements from one row to the next */
	int32_t type;   /* HGLD_FLOAT32 or HGLD_FLOAT64 */
} hgld_matrix;

/* The input of a loss. All matrices have one type; float64 is computed by the definition of the loss,
 * which is slow, where hgld_loss_describe says "exact", and is rounded to float32 elsewhere. */
typedef struct {
	hgld_matrix query; /* [Q,D] */
	const void *query_labels;
	hgld_matrix gallery; /* [G,D]; absent: the queries, each of which is then known to be itself */
	const void *gallery_labels;
	const int32_t *self; /* [Q] row of each query in gallery, or -1; NULL: no query has one */
	hgld_matrix memory;  /* [M,D] rows of earlier batches, without a gradient; absent: none */
	const void *memory_labels;
	const int32_t *memory_self; /* [Q] row of each query in memory, or -1; NULL: no query has one */
	float memory_weight;        /* of the loss against memory, relative to that against gallery; 0: 1 */
	uint32_t seed, step;        /* of random draws */
	const hgld_matrix *params;  /* values, in the order of hgld_loss_describe */
	void *const *states;        /* bytes, in that order; replaced by the call */
	int32_t labels_type;        /* of all labels: HGLD_INT32 or HGLD_INT64 */
} hgld_batch;

/* Where gradients are written. Absent matrices and NULL are not wanted. */
typedef struct {
	hgld_matrix query;         /* as hgld_batch.query */
	hgld_matrix gallery;       /* as hgld_batch.gallery */
	const hgld_matrix *params; /* as hgld_batch.params, without gaps; NULL: none */
} hgld_gradient;

/* One side of an evaluation. */
typedef struct {
	hgld_matrix vectors;    /* [N,D] */
	const int32_t *classes; /* [N,L] */
	const int32_t *ignore;  /* [N]: items with the number of a query are left out of its ranking; NULL: none */
} hgld_side;

/* Handles; 0 is none. */
typedef uint64_t hgld_loss;
typedef uint64_t hgld_result;
typedef uint64_t hgld_shards;

/* Returns HGLD_ABI. */
int hgld_abi(void);

/* Returns the version of hgld; free it. */
char *hgld_version(void);

/* Frees a text. */
void hgld_free(char *text);

/* Sets *json to the table of losses: [{"name", "about", "source", "proxies": whether it trains parameters,
 * "settings": {"paper": {...}, "released": {...}}}]. */
int hgld_losses(char **json, char **error);

/* Opens a loss: {"name": in the table, "preset": "paper" or "released", "settings": those that differ
 * from it, "classes": number of each level, finest first, or "levels": their number, for a loss
 * without parameters, "dim": D, "paths": labels of each finest class, which csl needs, "batch": rows
 * of a batch, "per_class": rows of a class in it, "memory": rows of a memory, "unit": divide rows of
 * query and gallery by their length first, with a gradient through it, "threads": 0 for one on each
 * processor}. */
int hgld_loss_open(char *spec, hgld_loss *loss, char **error);

/* Closes a loss. A number that is not open does nothing. */
void hgld_loss_close(hgld_loss loss);

/* Sets *json to what the caller keeps for a loss: {"params": [{"name", "dims", "type": "F32"}], "states":
 * [{"name", "dims", "type": "F32" or "U8", "start": first value of every element}], "exact": whether
 * float64 is computed by the definition, "by_query": whether queries have values of their own}. A parameter of one
 * dimension is a matrix of one row. */
int hgld_loss_describe(hgld_loss loss, char **json, char **error);

/* Writes the initial values of the parameters, in float32: those of a training of hgld with this seed. */
int hgld_loss_start(hgld_loss loss, uint64_t seed, hgld_matrix *params, char **error);

/* Sets *value to the loss of a batch and writes the gradients that are wanted; gradient may be NULL. The loss is
 * NaN if a number of the embeddings or parameters is not finite. */
int hgld_loss_compute(hgld_loss loss, hgld_batch *batch, hgld_gradient *gradient, double *value, char **error);

/* Returns the first row that batch n, counted from 0, takes in a memory of size rows, or -1 if a batch has no
 * rows or more than the memory. */
int64_t hgld_ring_first(int64_t size, int64_t batch, int64_t n);

/* Numbers the classes that cells of labels name, equal ones alike, as the program reads those of files. labels is
 * {"levels": names, "na_values": cells that mean no class, or [] for the usual words, "tables": one for each side,
 * {"name": for errors, "cells": [[the different cells], ...] by level, "counts": [[how often they occur], ...]}}. Sets
 * *json to {"numbers": by table, level and cell, -1 for no class, "notes": what was decided}. */
int hgld_classes(char *labels, char **json, char **error);

/* Ranks the gallery for every query, and sets *result. measures is {"metrics": ["R@1", ...], "ties": "row" or
 * "average", "mean": "query" or "class", "intervals": false, "resample": "query" or "class", "seed",
 * "gap": batch size, "unit": divide rows by their length first, "independent": the levels form no
 * tree, "levels": names, finest first, "threads", "per_query": keep the values of single queries, "extra_parents":
 * [{"level": its name, "class": number, "class_name", "parent": number of a class of the next coarser level,
 * "parent_name", "where": which row it is}]; the names and "where" are for errors, "examples": a class of the queries
 * and one of the gallery, for errors, "files": {"embeddings", "labels", "gallery_embeddings", "gallery_labels",
 * "na_values"}, which are read as by the program, instead of arrays, which are then NULL}. Queries that all have the
 * vector and the classes of a row
 * of the gallery are left out of their own rankings unless self is given.
 * Classes are any numbers from 0. gallery may be NULL: the queries, each left out of its own ranking.
 * self is as in hgld_batch. A number in cancel that is not 0 lets hgld_cancel stop the call. */
int hgld_evaluate(char *measures, hgld_side *query, hgld_side *gallery, int32_t *self, uint64_t cancel,
                  hgld_result *result, char **error);

/* Makes the evaluation with this number return soon, with an error. */
void hgld_cancel(uint64_t cancel);

/* Sets *json to a result in the form of eval.json, without the values of single queries, and with "notes": what was
 * decided about the input. */
int hgld_result_json(hgld_result result, char **json, char **error);

/* Writes the value of a metric for each of n queries, NaN where it is undefined. */
int hgld_result_values(hgld_result result, char *key, double *values, int64_t n, char **error);

/* Frees a result. A number that is not open does nothing. */
void hgld_result_close(hgld_result result);

/* Opens the images of a folder of shards: {"folder", "splits": such as ["train"], "hold_out": share of the finest
 * classes that are held out, "hold_out_seed": chooses them, "held": open the held-out classes instead of the
 * others}. */
int hgld_shards_open(char *spec, hgld_shards *shards, char **error);

/* Sets *json to {"images": their number N, "levels": L names, finest first, "classes": names of each level's classes,
 * by number, "numbering": a text, equal for equal numberings alone}. All splits of a folder have one numbering: the
 * classes to train on come first, then those held out of them, then the others of the folder. Without hold_out the
 * classes to train on are those of the split train. "classes" lists only them if they are what was opened. */
int hgld_shards_describe(hgld_shards shards, char **json, char **error);

/* Writes the n = N*L labels, numbered from 0 in each level; -1 means no class. */
int hgld_shards_labels(hgld_shards shards, int32_t *labels, int64_t n, char **error);

/* Sets *data to the bytes of an image's file, which is a JPEG, PNG or WebP, and *size to their number. They are freed
 * with hgld_free. Calls with one handle run at once. */
int hgld_shards_image(hgld_shards shards, int64_t row, void **data, int64_t *size, char **error);

/* Sets *id to the name of an image, 16 hexadecimal digits. */
int hgld_shards_id(hgld_shards shards, int64_t row, char **id, char **error);

/* Closes the files. A number that is not open does nothing. No other call may use them at the time. */
void hgld_shards_close(hgld_shards shards);

/* Sets *json to the batches of an epoch, counted from 0, each a list of row numbers: those of a training of hgld with
 * this seed. spec is {"name": in the table of samplers, "settings": those that differ from it, such as
 * {"batch", "m"}}. labels are those of a loss. */
int hgld_batches(char *spec, int32_t *labels, int64_t rows, int64_t levels, uint64_t seed, int64_t epoch, char **json,
                 char **error);

#ifdef __cplusplus
}
#endif

#endif
