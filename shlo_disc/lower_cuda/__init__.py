"""The CUDA target. Groups, stages, statements and host steps are ready for it; its printer is not written yet."""
