"""What an answer is made of: functions, graphs, kernels, schedules."""
