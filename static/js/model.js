// Which files are models; the script that one starts with is written by a module that is loaded once there is one.

const ENDINGS = ["onnx", "pt", "pt2", "tflite", "keras", "h5", "pb", "zip"];

export const ending = (file) => file.slice(file.lastIndexOf(".") + 1).toLowerCase();

/** Whether a file is a model, by its name. */
export const isModel = (file) => ENDINGS.includes(ending(file));
