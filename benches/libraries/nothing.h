double nothing2(int n, const double *values);
double nothing13(int a, int b, int c, int d, int e, int f, int g, int h, double i, double j, long k, short l, char m);
