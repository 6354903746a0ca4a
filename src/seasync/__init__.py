"""Find, in a sea of footage, the clip that moves in step with yours, and sync it frame by frame."""
